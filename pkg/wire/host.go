package wire

import "time"

// States of a resident, as HostState says.
const (
	HostRunning = "running"
	HostSilent  = "silent"  // it lives and does not answer
	HostStopped = "stopped" // it has ended in order
	HostKilled  = "killed"  // it did not end, and was killed with what it had started
)

// Host is a resident: a process that kx starts when it is needed, and that serves many
// calls.
type Host struct {
	Type   string `json:"type"` // "host"
	V      int    `json:"v"`
	Name   string `json:"name"`
	State  string `json:"state"`
	PID    int    `json:"pid"`
	Socket string `json:"socket"`

	// A silent one does not tell these.
	Version   string     `json:"version,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	UptimeMS  int64      `json:"uptime_ms,omitempty"`

	MemoryBytes int64 `json:"memory_bytes"` // of the process and all that came from it
	Clients     int   `json:"clients"`      // connections, but that of who asks
}
