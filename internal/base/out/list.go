package out

import "errors"

// Columns says how a list of documents looks as a table.
type Columns[T any] struct {
	Header []string
	Row    func(T) []string
	Empty  string // said on the standard error when a person sees no rows
}

// Each writes the documents that each emits, in order: jsonl at once, json as
// elements of one array that is closed whatever happens, table and md as one
// table at the end. The error of each is returned after what came before it was
// written.
func Each[T any](p *Printer, cols Columns[T], each func(emit func(T) error) error) error {
	switch p.format {
	case JSONL:
		return each(func(doc T) error { return p.line(doc) })
	case JSON:
		return p.array(func(emit func(any) error) error {
			return each(func(doc T) error { return emit(doc) })
		})
	}
	var rows [][]string
	failed := each(func(doc T) error { rows = append(rows, cols.Row(doc)); return nil })
	if len(rows) > 0 {
		return errors.Join(failed, p.table(cols.Header, rows))
	}
	if failed == nil && cols.Empty != "" && !p.quiet {
		return writeTo(p.io.Err, []byte(Sprintf("%s\n", cols.Empty)))
	}
	return failed
}

// List is Each for documents that are all at hand.
func List[T any](p *Printer, cols Columns[T], docs []T) error {
	return Each(p, cols, func(emit func(T) error) error {
		for _, d := range docs {
			if err := emit(d); err != nil {
				return err
			}
		}
		return nil
	})
}

// Encoded is a document that was encoded where there was time for it.
type Encoded struct {
	Doc  any
	json []byte
}

// Encode encodes a document for a stream; a table needs none of that.
func (p *Printer) Encode(doc any) (Encoded, error) {
	if !p.format.Data() {
		return Encoded{Doc: doc}, nil
	}
	b, err := encode(doc)
	return Encoded{doc, b}, err
}

// Hold keeps what is written until Flush: for documents that come all at once.
func (p *Printer) Hold() { p.holds = true }

// Flush writes what was held.
func (p *Printer) Flush() error {
	held := p.held
	p.holds, p.held = false, p.held[:0]
	return writeTo(p.io.Out, held)
}

// line writes one document as one line, in one write.
func (p *Printer) line(doc any) error {
	b, err := encode(doc)
	if err != nil {
		return err
	}
	return p.write(append(p.visible(b), '\n'))
}

// array writes a JSON array around what each emits. A document that cannot be
// written whole is not begun.
func (p *Printer) array(each func(emit func(any) error) error) error {
	open, broken := "[", false
	failed := each(func(doc any) error {
		b, err := encode(doc)
		if err != nil {
			return err
		}
		if p.io.OutTTY {
			open += "\n"
		}
		if err := p.write(append([]byte(open), p.visible(p.indent(b))...)); err != nil {
			broken = true
			return err
		}
		open = ","
		return nil
	})
	if broken {
		return failed
	}
	end := "]\n"
	switch {
	case open == "[":
		end = "[]\n"
	case p.io.OutTTY:
		end = "\n]\n"
	}
	return errors.Join(failed, p.write([]byte(end)))
}
