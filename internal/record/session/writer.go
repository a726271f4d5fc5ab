package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/pkg/wire"
)

// Writer is the one writer of a session, for as long as it runs.
type Writer struct {
	store  *Store
	id     string
	log    *fsx.Log
	seq    int64
	unlock func()
}

// OpenWriter takes the session for a run. Somebody else's run is a conflict.
// The torn end that a killed run left is moved aside to events.torn.
func (s *Store) OpenWriter(id string) (*Writer, error) {
	if _, err := s.Meta(id); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir(id), lockFile)
	unlock, free, err := fsx.TryLock(path)
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, fail.Conflict("session_running", "session %s is running (pid %d)", id, s.PID(id)).WithHint("kx agent stop %s", id)
	}
	// Written in place: the lock belongs to this very file.
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		unlock()
		return nil, fail.Failed("write", "%s can't be written: %v", path, fsx.Reason(err)).WithHint("df -h %s", path).Because(err)
	}
	w := &Writer{store: s, id: id, unlock: func() {
		os.Truncate(path, 0)
		unlock()
	}}
	if w.log, w.seq, err = s.openLog(id); err != nil {
		w.unlock()
		return nil, err
	}
	return w, nil
}

// openLog opens the events for appending and finds the last seq. Damaged lines
// at the end are passed over: they stay, readers tell them.
func (s *Store) openLog(id string) (*fsx.Log, int64, error) {
	log, err := fsx.OpenLog(filepath.Join(s.dir(id), eventsFile))
	if err != nil {
		return nil, 0, err
	}
	for end := log.Size(); end > 0; {
		line, start, err := log.Before(end)
		if err != nil {
			log.Close()
			return nil, 0, err
		}
		var last struct {
			Seq int64 `json:"seq"`
		}
		if json.Unmarshal(line, &last) == nil && last.Seq > 0 {
			return log, last.Seq, nil
		}
		end = start
	}
	return log, 0, nil
}

// Append writes an event and returns it. It is safe from a crash of this
// process at once, and from one of the machine after Sync.
func (w *Writer) Append(event string, data any) (wire.Event, error) {
	e, err := w.store.append(w.log, w.id, w.seq+1, event, data)
	if err == nil {
		w.seq = e.Seq
	}
	return e, err
}

// Sync is the barrier: it returns when every event is on disk.
func (w *Writer) Sync() error { return w.log.Sync() }

// Seq is the number of the last event.
func (w *Writer) Seq() int64 { return w.seq }

// Close gives the session back.
func (w *Writer) Close() error {
	err := w.log.Close()
	w.unlock()
	return err
}

// AppendShared writes an event into a session that no run holds, such as that
// of a workspace, where several processes write. With barrier it returns when
// the event is on disk.
func (s *Store) AppendShared(id, event string, data any, barrier bool) (wire.Event, error) {
	if _, err := s.Meta(id); err != nil {
		return wire.Event{}, err
	}
	unlock, err := fsx.Lock(filepath.Join(s.dir(id), lockFile))
	if err != nil {
		return wire.Event{}, err
	}
	defer unlock()
	log, seq, err := s.openLog(id)
	if err != nil {
		return wire.Event{}, err
	}
	defer log.Close()
	e, err := s.append(log, id, seq+1, event, data)
	if err == nil && barrier {
		err = log.Sync()
	}
	return e, err
}

func (s *Store) append(log *fsx.Log, id string, seq int64, event string, data any) (wire.Event, error) {
	raw, err := wire.Marshal(data)
	if err != nil {
		return wire.Event{}, fail.Failed("session", "a %s event can't be encoded: %v", event, err).Because(err)
	}
	e := wire.Event{Type: "event", V: wire.Version, Seq: seq, At: s.now().UTC().Truncate(time.Microsecond), Session: id, Event: event, Data: raw}
	stored := e
	if stored.Data, err = s.shrink(s.dir(id), raw); err != nil {
		return wire.Event{}, err
	}
	line, err := wire.Marshal(stored)
	if err != nil {
		return wire.Event{}, fail.Failed("session", "a %s event can't be encoded: %v", event, err).Because(err)
	}
	return e, log.Append(bytes.TrimSpace(line))
}
