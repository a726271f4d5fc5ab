// Package audit owns audit/ in the state directory: the record of every
// decision and what became of it.
//
// audit/<date>.jsonl holds a day, and all days are one chain: a line has the
// next seq, and prev is the sha256 of the line before it (64 zeros in the
// first). audit/head repeats the end of the chain so that appending reads one
// line; it is a cache that is mended from the files. audit/blobs/<sha256> holds
// exact inputs. The chain shows edits, gaps and reordering. Who may write the
// files can also write a whole new chain, so a digest printed by Head belongs
// somewhere else.
//
// The gate appends a decision before it acts on it and refuses the call when
// that fails. Several processes append; each holds audit/lock for the moment
// of one line. Readers need no lock.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	folder   = "audit"
	headFile = "head"
	suffix   = ".jsonl"
	day      = "2006-01-02"
	headSize = 256 // a head is at most 170 bytes; one size, so that a new one covers the old
)

// genesis is the prev of the first line.
const genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// Log is the audit of one state directory.
type Log struct {
	st  *state.State
	now func() time.Time
}

// New returns the audit in st. It makes nothing before the first Append.
func New(st *state.State, now func() time.Time) *Log { return &Log{st: st, now: now} }

func (l *Log) dir() string { return filepath.Join(l.st.Dir(), folder) }

// head is the end of the chain: the last line, and how long its file is.
type head struct {
	Seq    int64  `json:"seq"`
	SHA256 string `json:"sha256"`
	File   string `json:"file"`
	Size   int64  `json:"size"`
}

// Append adds doc, a JSON object that begins with its type, takes known secrets out
// of it, puts seq, at and prev into it and returns the seq. With barrier it returns when the line is on
// disk. After an error the caller must not act: the line is not in the record,
// or not known to be on disk.
func (l *Log) Append(doc any, barrier bool) (seq int64, err error) {
	body, err := wire.Marshal(doc)
	if err != nil {
		return 0, fail.Failed("audit", "a line for the audit can't be encoded: %v", err).Because(err)
	}
	hide, err := secret.Redactor(l.st)
	if err != nil {
		return 0, err
	}
	body = hide.JSON(body)
	dir, err := l.st.Sub(folder)
	if err != nil {
		return 0, err
	}
	unlock, err := fsx.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return 0, err
	}
	defer unlock()

	now := l.now().UTC()
	h, file, err := open(dir, now.Format(day)+suffix)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	line, err := place(body, Place{Seq: h.Seq + 1, At: now, Prev: h.SHA256})
	if err != nil {
		return 0, err
	}
	if err := file.Append(line); err != nil {
		return 0, err
	}
	if barrier {
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	h.Seq, h.SHA256, h.Size = h.Seq+1, digest(line), file.Size()
	// The line is in the record; a head that can't be written is found to be
	// behind by the next writer.
	_ = h.write(dir)
	return h.Seq, nil
}

// open finds the end of the chain and opens the file of the next line: today's,
// or the newest there is if the clock went back.
func open(dir, today string) (head, *fsx.Log, error) {
	h := readHead(dir)
	if h.File != today {
		files, err := days(dir)
		if err != nil {
			return head{}, nil, err
		}
		if n := len(files); n > 0 && files[n-1] > h.File { // the head is lost or old
			h.File, h.Size = files[n-1], -1
		}
	}
	if h.File != "" {
		file, err := fsx.OpenLog(filepath.Join(dir, h.File))
		if err == nil && file.Size() != h.Size {
			err = h.mend(dir, file.Size())
		}
		if err != nil || h.File >= today {
			return h, file, err
		}
		file.Close()
	}
	// A new day. The head names the file before it exists: so the file of a
	// head that is not lost is always the newest.
	h.File, h.Size = today, 0
	if err := h.write(dir); err != nil {
		return head{}, nil, err
	}
	file, err := fsx.OpenLog(filepath.Join(dir, today))
	return h, file, err
}

// mend moves a head that is behind (a writer was killed before it wrote it) to
// the end of the chain. One that knows of more lines than there are stays, so
// that the gap shows.
func (h *head) mend(dir string, size int64) error {
	seq, sum, err := tail(dir)
	if err != nil {
		return err
	}
	if h.Size = size; seq > h.Seq {
		h.Seq, h.SHA256 = seq, sum
	}
	return nil
}

// tail reads the end of the chain from the files. A damaged line counts, for
// the next line has to follow it.
func tail(dir string) (seq int64, sum string, err error) {
	files, err := days(dir)
	if err != nil {
		return 0, "", err
	}
	damaged := int64(0)
	for _, name := range slices.Backward(files) {
		file, err := fsx.OpenLog(filepath.Join(dir, name))
		if err != nil {
			return 0, "", err
		}
		defer file.Close()
		for end := file.Size(); end > 0; {
			line, start, err := file.Before(end)
			if err != nil {
				return 0, "", err
			}
			if sum == "" {
				sum = digest(line)
			}
			var at Place
			if json.Unmarshal(line, &at) == nil && at.Seq > 0 {
				return at.Seq + damaged, sum, nil
			}
			damaged, end = damaged+1, start
		}
	}
	if sum == "" {
		sum = genesis
	}
	return damaged, sum, nil
}

// days lists the files of the chain in order.
func days(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail.Failed("audit", "%s can't be read: %v", dir, fsx.Reason(err)).WithHint("ls -ld %s", dir).Because(err)
	}
	var files []string
	for _, e := range entries {
		if isDay(e.Name()) {
			files = append(files, e.Name())
		}
	}
	return files, nil // ReadDir sorts
}

func isDay(name string) bool {
	date, ok := strings.CutSuffix(name, suffix)
	_, err := time.Parse(day, date)
	return ok && err == nil
}

// readHead returns the head, or an empty one if it is missing or damaged.
func readHead(dir string) head {
	var h head
	data, _, err := fsx.ReadRegular(filepath.Join(dir, headFile), headSize)
	if err != nil || json.Unmarshal(data, &h) != nil || !isDay(h.File) || !isSum(h.SHA256) || h.Seq < 0 || h.Size < 0 {
		return head{SHA256: genesis}
	}
	return h
}

// write replaces the head, in place: renaming a new file over it makes some
// file systems flush, which costs more than all else. Writers hold the lock,
// and a head that a power cut spoiled is not JSON any more.
func (h head) write(dir string) error {
	data, err := wire.Marshal(h)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, headFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(fmt.Appendf(nil, "%-*s\n", headSize-1, data))
		err = errors.Join(err, f.Truncate(headSize), f.Close())
	}
	if err != nil {
		return fail.Failed("write", "%s can't be written: %v", path, fsx.Reason(err)).WithHint("df -h %s", dir).Because(err)
	}
	return nil
}

// place puts seq and at behind the type of the JSON object body, and prev at
// its end.
func place(body []byte, p Place) ([]byte, error) {
	var taken struct{ Seq, At, Prev json.RawMessage }
	dec := json.NewDecoder(bytes.NewReader(body))
	first, _ := dec.Token()
	key, _ := dec.Token()
	kind, err := dec.Token()
	name, ok := kind.(string)
	if err != nil || first != json.Delim('{') || key != "type" || !ok || name == "" ||
		json.Unmarshal(body, &taken) != nil || taken.Seq != nil || taken.At != nil || taken.Prev != nil {
		return nil, fail.Failed("audit", "a line for the audit is not an object that begins with its type: %.60s", body)
	}
	at, err := p.At.MarshalJSON()
	if err != nil {
		return nil, fail.Failed("audit", "the clock shows %v: %v", p.At, err)
	}
	rest := body[dec.InputOffset():]
	line := make([]byte, 0, len(body)+200)
	line = append(line, body[:dec.InputOffset()]...)
	line = strconv.AppendInt(append(line, `,"seq":`...), p.Seq, 10)
	line = append(append(line, `,"at":`...), at...)
	line = append(line, rest[:len(rest)-1]...)
	return append(line, `,"prev":"`+p.Prev+`"}`...), nil
}

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

func isSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// Blob stores data under its sha256, once, and returns that.
func (l *Log) Blob(data []byte) (sum string, err error) {
	dir, err := l.st.Sub(folder, "blobs")
	if err != nil {
		return "", err
	}
	sum = digest(data)
	path := filepath.Join(dir, sum)
	if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && fi.Size() == int64(len(data)) {
		return sum, nil
	}
	return sum, fsx.WriteFile(path, data, 0)
}

// ReadBlob returns what Blob stored under sum.
func (l *Log) ReadBlob(sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, fail.Usage("%.80q is not the sha256 of a blob", sum)
	}
	data, err := os.ReadFile(filepath.Join(l.dir(), "blobs", sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail.NotFound("blob", "the audit has no blob %s", sum)
	}
	if err == nil && digest(data) != sum {
		err = errors.New("its content has changed")
	}
	if err != nil {
		return nil, fail.Failed("blob", "the blob %s can't be read: %v", sum, fsx.Reason(err)).Because(err)
	}
	return data, nil
}
