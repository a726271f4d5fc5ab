package host

import (
	"context"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// infoTime is how long a resident may take to tell what it is: it needs
	// milliseconds.
	infoTime = 2 * time.Second
	// Patience is how long a resident may take to end: its requests have 2 s, what it
	// has started has about as long.
	Patience = 10 * time.Second
)

// List tells of the residents that live, by name. One that does not answer is among
// them.
func List(ctx context.Context, st *state.State) ([]wire.Host, error) {
	entries := resident.List(st.Dir())
	if len(entries) == 0 {
		return nil, nil
	}
	key, err := st.HostKey()
	if err != nil {
		return nil, err
	}
	hosts := make([]wire.Host, len(entries))
	within, cancel := context.WithTimeout(ctx, infoTime)
	defer cancel()
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() { hosts[i] = ask(within, e, key, verbInfo) })
	}
	all.Wait()
	list := hosts[:0]
	for i, h := range hosts {
		if pid, _, held := resident.Read(entries[i].Lock); held && pid == entries[i].PID { // it may have ended meanwhile
			list = append(list, h)
		}
	}
	return list, ctx.Err()
}

// ask asks a resident what it is, or tells it to stop.
func ask(ctx context.Context, e resident.Entry, key []byte, verb string) wire.Host {
	h := wire.Host{Type: "host", V: wire.Version, Name: e.Name, State: wire.HostSilent, PID: e.PID, Socket: e.Socket}
	c, err := socket.Dial(ctx, socket.Options{Socket: e.Socket, KeyName: "host", Key: key})
	if err == nil {
		defer c.Close()
		told := h
		if err = c.Ask(ctx, verb, nil, &told); err == nil && told.Type == h.Type && told.Name == h.Name {
			told.PID, told.Socket = h.PID, h.Socket // the lock is believed
			return told
		}
	}
	h.MemoryBytes = proc.Memory(h.PID)
	return h
}

// Stop ends a resident and waits until it has gone. One that has not ended by itself
// when patience is over is killed with all that came from it.
func Stop(ctx context.Context, st *state.State, e resident.Entry, patience time.Duration) (wire.Host, error) {
	key, err := st.HostKey()
	if err != nil {
		return wire.Host{}, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h := ask(within, e, key, verbStop)
	h.State = wire.HostStopped
	err = ended(within, e)
	if err == nil || ctx.Err() != nil {
		return h, ctx.Err()
	}
	h.State = wire.HostKilled
	if left := proc.Kill(e.PID); len(left) > 0 {
		return h, fail.Conflict("host_lives", "%s can't be ended: process %d is left", e.Name, left[0]).WithHint("ps -fp %d", left[0])
	}
	return h, nil
}

// ended returns once a resident has let go of its lock, the last that it does.
func ended(ctx context.Context, e resident.Entry) error {
	for {
		if pid, _, held := resident.Read(e.Lock); !held || pid != 0 && pid != e.PID {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry):
		}
	}
}
