package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// defaultLines is about what a model reads at a time with profit.
	defaultLines = 2000
	// maxLineChars keeps a minified file from filling the context.
	maxLineChars = 2000
	// maxText bounds what one call shows, whatever its lines are.
	maxText = 256 << 10
	// ctxEvery is how many pieces of a file are read between two looks at the
	// context: rare enough to cost nothing, often enough to stop at once.
	ctxEvery = 1024
)

const readSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"description":"the file"},
"offset":{"type":"integer","minimum":1,"description":"the first line to show, counted from 1; default 1"},
"limit":{"type":"integer","minimum":1,"description":"how many lines to show; default 2000"}}}`

type readInput struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

func readFile(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	in := readInput{Offset: 1, Limit: defaultLines}
	if err := tool.Decode("read_file", input, &in); err != nil {
		return nil, err
	}
	if in.Offset < 1 || in.Limit < 1 {
		return nil, tool.Invalid("read_file", "offset and limit start at 1")
	}
	p, err := place.File(env, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	f, st, err := p.OpenFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()

	br := bufio.NewReaderSize(f, place.SniffLen+192)
	head, err := br.Peek(place.SniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, place.Explain(err, p.Show)
	}
	if err := place.CheckText(head, st.Size(), p.Show); err != nil {
		return nil, err
	}
	w := &window{first: in.Offset, limit: in.Limit, sum: sha256.New(), whole: st.Size() <= place.MaxWhole, secrets: env.Secrets}
	if bytes.HasPrefix(head, place.BOM) {
		w.sum.Write(place.BOM)
		_, _ = br.Discard(len(place.BOM))
	}
	if err := w.read(ctx, br); err != nil {
		return nil, place.Explain(err, p.Show)
	}
	if w.ended && w.first > max(w.lines, 1) {
		return nil, fail.Failed("past_end", "%s has %d lines, so there is none at offset %d", place.Name(p.Show), w.lines, w.first)
	}
	return w.output(p.Show), nil
}

// window goes through a file once: it keeps the lines that were asked for and
// counts and hashes the rest. Of a file that is too long for that (not whole)
// it stops behind its lines.
type window struct {
	first, limit int64
	sum          hash.Hash
	whole        bool
	secrets      *redact.Redactor

	text     strings.Builder
	lines    int64 // met so far
	next     int64 // the first line behind the window, once it is met
	ended    bool  // the end of the file was met
	lf, crlf int64
	replaced bool // U+FFFD stands for some byte
}

func (w *window) read(ctx context.Context, br *bufio.Reader) error {
	const keep = maxLineChars*utf8.UTFMax + 1 // a line's first bytes, enough to cut it
	var line []byte
	length := 0
	cr := false // the piece before ended in CR
	for i := 0; ; i++ {
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return fail.As(ctx.Err())
		}
		piece, err := br.ReadSlice('\n')
		w.sum.Write(piece)
		line = append(line, piece[:min(len(piece), max(keep-len(line), 0))]...)
		length += len(piece)
		// The end of a long line is not kept, but it tells how the line ends.
		crlf := bytes.HasSuffix(piece, []byte("\r\n")) || cr && len(piece) == 1
		cr = bytes.HasSuffix(piece, []byte("\r"))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if length > 0 {
			w.line(line, length, err == nil, crlf)
			line, length = line[:0], 0
		}
		w.ended = err != nil
		if w.ended || w.next > 0 && !w.whole {
			return nil
		}
	}
}

// line takes one line with its end: the first bytes of it, and its length.
func (w *window) line(b []byte, length int, complete, crlf bool) {
	w.lines++
	end := 0
	switch {
	case crlf:
		w.crlf++
		end = 2
	case complete:
		w.lf++
		end = 1
	}
	if w.lines < w.first || w.next > 0 {
		return
	}
	body := b[:min(len(b), length-end)]
	clean := w.secrets.Bytes(body) // or half of one may stay
	length += len(clean) - len(body)
	shown, _ := place.CutRunes(clean, maxLineChars)
	s := string(shown)
	if !utf8.Valid(shown) || bytes.IndexByte(shown, 0) >= 0 {
		w.replaced = true
		s = place.Readable(s)
	}
	if left := length - end - len(shown); left > 0 {
		s += fmt.Sprintf(" [... %d more bytes in this line]", left)
	}
	s = fmt.Sprintf("%6d\t%s\n", w.lines, s)
	if w.lines >= w.first+w.limit || w.text.Len()+len(s) > maxText {
		w.next = w.lines
		return
	}
	w.text.WriteString(s)
}

func (w *window) output(show string) wire.Output {
	out := wire.Output{"path": show}
	var notes []string
	if w.next > 0 {
		out["next_offset"] = w.next
		of := ""
		if w.ended {
			of = fmt.Sprintf(" of %d", w.lines)
		}
		notes = append(notes, fmt.Sprintf("lines %d-%d%s; read on with offset %d", w.first, w.next-1, of, w.next))
	}
	if w.ended {
		out["total_lines"] = w.lines
	}
	if w.whole {
		out["sha256"] = hex.EncodeToString(w.sum.Sum(nil))
	} else {
		out["note"] = fmt.Sprintf("larger than %s: no sha256", place.Size(place.MaxWhole))
		notes = append(notes, out["note"].(string))
	}
	if w.crlf > 0 {
		out["line_endings"] = "crlf"
		if w.lf > 0 {
			out["line_endings"] = "mixed"
		}
		notes = append(notes, "line ends: "+out["line_endings"].(string))
	}
	if w.replaced {
		out["encoding_note"] = "bytes that are not UTF-8 text are shown as U+FFFD"
		notes = append(notes, out["encoding_note"].(string))
	}
	if w.ended && w.lines == 0 {
		notes = append(notes, "the file is empty")
	}
	text := w.text.String()
	for _, n := range notes {
		text += "[" + n + "]\n"
	}
	out["text"] = strings.TrimSuffix(text, "\n")
	return out
}
