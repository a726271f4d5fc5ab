// Package out is the one printer: it writes documents as json, jsonl, a table
// or Markdown, whichever is in force, and is the only importer of tablewriter.
//
// Invariants: the standard output holds only complete records, also when the
// command fails half-way; everything for a person is sanitised, on a pipe as on a
// terminal, and what is put into a line can't end it; an error of writing is
// returned, never swallowed. Commands call it; nothing else prints
// on the standard output.
package out

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// Format is how documents are written.
type Format string

// The formats. Auto is Table on a terminal and JSONL on a pipe.
const (
	Auto  Format = "auto"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	Table Format = "table"
	MD    Format = "md"
)

// Formats are all formats, in the order of the help.
var Formats = []Format{Auto, JSON, JSONL, Table, MD}

// Parse returns the format of that name.
func Parse(name string) (Format, bool) {
	for _, f := range Formats {
		if string(f) == name {
			return f, true
		}
	}
	return "", false
}

// Resolve replaces Auto by what it stands for.
func (f Format) Resolve(tty bool) Format {
	switch {
	case f != Auto:
		return f
	case tty:
		return Table
	}
	return JSONL
}

// Data reports whether f is for programs.
func (f Format) Data() bool { return f == JSON || f == JSONL }

// Printer writes the documents of one command.
type Printer struct {
	io     *term.IO
	format Format
	quiet  bool

	holds bool
	held  []byte
}

// New returns a printer to the standard output of s. A quiet one leaves out the
// remarks that are no result.
func New(s *term.IO, f Format, quiet bool) *Printer {
	return &Printer{io: s, format: f.Resolve(s.OutTTY), quiet: quiet}
}

// Format returns the format in force, never Auto.
func (p *Printer) Format() Format { return p.format }

// Record writes a single document. text writes the form for a person.
func (p *Printer) Record(doc any, text func(t *Text)) error {
	if !p.format.Data() {
		return p.Text(text)
	}
	b, err := encode(doc)
	if err != nil {
		return err
	}
	if p.format == JSON {
		b = p.indent(b)
	}
	return p.write(append(p.visible(b), '\n'))
}

// Text writes text for a person, whatever the format: commands whose output is
// no document (help, a page, a script) use it alone.
func (p *Printer) Text(text func(t *Text)) error {
	t := &Text{color: p.io.OutColor}
	text(t)
	return p.write(t.buf.Bytes())
}

// Raw writes b as it is, but to a terminal. It is for what a program asked for by
// name: a completion script, the source of a page, an exported file.
func (p *Printer) Raw(b []byte) error {
	if p.io.OutTTY {
		b = []byte(term.Sanitize(string(b)))
	}
	return p.write(b)
}

func (p *Printer) write(b []byte) error {
	if p.holds {
		p.held = append(p.held, b...)
		return nil
	}
	return writeTo(p.io.Out, b)
}

func writeTo(w term.Stream, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := w.Exact(b); err != nil {
		return fail.Failed("output", "writing the output: %v", err).Because(err)
	}
	return nil
}

// visible guards the terminal; a program gets the bytes as they are.
func (p *Printer) visible(doc []byte) []byte {
	if p.io.OutTTY {
		return term.JSON(doc)
	}
	return doc
}

// indent lays a document out for a person; for a program it stays on one line.
func (p *Printer) indent(doc []byte) []byte {
	var b bytes.Buffer
	if !p.io.OutTTY || json.Indent(&b, doc, "", "  ") != nil {
		return doc
	}
	return b.Bytes()
}

// encode writes doc on one line, with the foreign fields that it carries.
func encode(doc any) ([]byte, error) {
	if e, ok := doc.(Encoded); ok {
		return e.json, nil
	}
	b, err := wire.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("writing a document: %w", err)
	}
	if d, ok := doc.(interface{ Extras() wire.Extra }); ok {
		b = d.Extras().Append(b)
	}
	return b, nil
}

// Error writes err on the standard error: as a document when programs are
// listening, else as a line, and the hint on a second one.
func Error(s *term.IO, f Format, err *fail.Error) error {
	if !f.Resolve(s.OutTTY).Data() {
		t := &Text{color: s.ErrColor}
		t.Printf("%s %s\n", t.Paint(Red, "kx:"), err.Msg)
		if err.Hint != "" {
			t.Printf("%s %s\n", t.Paint(Dim, "hint:"), err.Hint)
		}
		return writeTo(s.Err, t.buf.Bytes())
	}
	b, encErr := encode(wire.ErrorDoc{Type: "error", V: wire.Version, Error: *err.Wire()})
	if encErr != nil {
		return encErr
	}
	if s.ErrTTY {
		b = term.JSON(b)
	}
	return writeTo(s.Err, append(b, '\n'))
}
