package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/pkg/wire"
)

// maxInline is the longest string that stays in a line. Short lines are written
// whole even when the writer is killed, and are quick to search.
const maxInline = 32 << 10

// A reference stands in a line for what lies in blobs/: for a string, or (json)
// for a value that looks like a reference and would be mistaken for one.
type reference struct {
	Blob  string `json:"blob"`
	Bytes int    `json:"bytes"`
	JSON  bool   `json:"json,omitempty"`
}

// shrink moves to blobs/ the long strings of data, and those that hold a known
// secret: a run that goes on needs its calls as they were, and a line that somebody
// reads has no secret in it.
func (s *Store) shrink(dir string, data json.RawMessage) (json.RawMessage, error) {
	known, secrets, err := s.secrets(data)
	if err != nil {
		return nil, err
	}
	if len(data) <= maxInline && !mayRefer(data) && !secrets {
		return data, nil
	}
	return rewrite(data, func(v any) (any, bool, error) {
		if str, ok := v.(string); ok && (len(str) > maxInline || secrets && known.Has(str)) {
			ref, err := putBlob(dir, []byte(str), false)
			return ref, true, err
		}
		if _, ok := asReference(v); ok || secrets && hasKey(v, known) {
			raw, err := wire.Marshal(v)
			if err != nil {
				return nil, true, err
			}
			ref, err := putBlob(dir, raw, true)
			return ref, true, err
		}
		return v, false, nil
	})
}

// restore puts the strings back.
func (s *Store) restore(id string, data json.RawMessage) (json.RawMessage, error) {
	if !mayRefer(data) {
		return data, nil
	}
	return rewrite(data, func(v any) (any, bool, error) {
		ref, ok := asReference(v)
		if !ok {
			return v, false, nil
		}
		raw, err := s.getBlob(id, ref)
		if err != nil {
			return nil, true, err
		}
		if ref.JSON {
			return json.RawMessage(raw), true, nil
		}
		return string(raw), true, nil
	})
}

// mayRefer is false if data has no reference in it, however it is escaped.
func mayRefer(data []byte) bool {
	return bytes.Contains(data, []byte(`"blob"`)) || bytes.Contains(data, []byte(`\u00`))
}

// rewrite walks data from the outside in and replaces what change tells it to.
func rewrite(data json.RawMessage, change func(v any) (any, bool, error)) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fail.Failed("session", "the data of an event is not JSON: %v", err).Because(err)
	}
	v, err := walk(v, change)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(v)
}

func walk(v any, change func(v any) (any, bool, error)) (any, error) {
	v, done, err := change(v)
	if done || err != nil {
		return v, err
	}
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if v[k], err = walk(item, change); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range v {
			if v[i], err = walk(item, change); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// asReference reports whether v has the shape of a reference.
func asReference(v any) (reference, bool) {
	m, ok := v.(map[string]any)
	sum, isString := m["blob"].(string)
	if !ok || !isString || len(m) < 2 || len(m) > 3 {
		return reference{}, false
	}
	n, isNumber := m["bytes"].(json.Number)
	size, err := n.Int64()
	isJSON, _ := m["json"].(bool)
	if !isNumber || err != nil || len(m) == 3 && !isJSON {
		return reference{}, false
	}
	return reference{Blob: sum, Bytes: int(size), JSON: isJSON}, true
}

// secrets returns what knows the secrets, and whether data has any.
func (s *Store) secrets(data json.RawMessage) (known *redact.Redactor, has bool, err error) {
	known, err = secret.Redactor(s.st)
	return known, err == nil && !bytes.Equal(known.JSON(data), data), err
}

// hasKey reports whether a secret is the name of a field of v.
func hasKey(v any, known *redact.Redactor) bool {
	m, _ := v.(map[string]any)
	for k := range m {
		if known.Has(k) {
			return true
		}
	}
	return false
}

func putBlob(session string, data []byte, isJSON bool) (reference, error) {
	sum := sha256.Sum256(data)
	ref := reference{Blob: hex.EncodeToString(sum[:]), Bytes: len(data), JSON: isJSON}
	dir := filepath.Join(session, blobFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ref, fail.Failed("write", "%s can't be made: %v", dir, fsx.Reason(err)).WithHint("df -h %s", session).Because(err)
	}
	path := filepath.Join(dir, ref.Blob)
	if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && fi.Size() == int64(len(data)) {
		return ref, nil
	}
	return ref, fsx.WriteFile(path, data, 0)
}

func (s *Store) getBlob(id string, ref reference) ([]byte, error) {
	sum, err := hex.DecodeString(ref.Blob)
	if err != nil || len(sum) != sha256.Size {
		return nil, fail.Failed("blob", "%.80q is not the name of a blob", ref.Blob)
	}
	path := filepath.Join(s.dir(id), blobFolder, hex.EncodeToString(sum))
	data, _, err := fsx.ReadRegular(path, fsx.MaxLine)
	if err != nil {
		return nil, fail.Failed("blob", "a part of session %s is missing: %s: %v", id, path, fsx.Reason(err)).Because(err)
	}
	if got := sha256.Sum256(data); !bytes.Equal(got[:], sum) {
		return nil, fail.Failed("blob", "a part of session %s has changed: %s", id, path)
	}
	return data, nil
}
