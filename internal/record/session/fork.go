package session

import (
	"bytes"
	"iter"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/pkg/wire"
)

// Fork makes a session that begins with events of another one; m is what is known of
// it. It is there with all of them or not at all. The events keep their times and are
// counted anew.
func (s *Store) Fork(m Meta, events iter.Seq2[wire.Event, error]) (Meta, error) {
	return s.create(m, func(dir string, m Meta) error {
		log, err := fsx.OpenLog(filepath.Join(dir, eventsFile))
		if err != nil {
			return err
		}
		defer log.Close()
		seq := int64(0)
		for e, err := range events {
			if err != nil {
				return err
			}
			seq++
			e.Session, e.Seq = m.ID, seq
			if e.Data, err = s.shrink(dir, e.Data); err != nil {
				return err
			}
			line, err := wire.Marshal(e)
			if err != nil {
				return err
			}
			if err := log.Append(bytes.TrimSpace(line)); err != nil {
				return err
			}
		}
		return log.Sync()
	})
}
