package out

import (
	"bytes"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/kxtools/kx/internal/base/term"
)

// gap is the space between two columns.
const gap = 2

// narrowest is how far a column is cut to fit the terminal: less tells nothing.
const narrowest = 6

// table writes rows as a table for a person, or in Markdown.
func (p *Printer) table(header []string, rows [][]string) error {
	cells := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		line := make([]string, len(header))
		for i := range line {
			if i < len(row) {
				line[i] = term.Line(row[i])
			}
		}
		cells = append(cells, line)
	}
	if p.format == MD {
		return p.markdown(cells)
	}
	if p.io.Width > 0 {
		fit(cells, p.io.Width)
	}
	b, err := render(cells,
		tablewriter.WithRenderer(renderer.NewBlueprint()),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.SeparatorsNone,
			},
		}),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}),
	)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	b = b[:0:0]
	for i, line := range lines {
		line = bytes.TrimRight(line, " \n")
		if i == len(lines)-1 && len(line) == 0 {
			break
		}
		if i == 0 && p.io.OutColor {
			line = []byte("\x1b[" + string(Bold) + "m" + string(line) + "\x1b[0m")
		}
		b = append(append(b, line...), '\n')
	}
	return p.write(b)
}

// markdownEscaper keeps a cell inside its cell and its text plain.
var markdownEscaper = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`")

func (p *Printer) markdown(cells [][]string) error {
	for _, row := range cells {
		for i := range row {
			row[i] = markdownEscaper.Replace(row[i])
		}
	}
	b, err := render(cells, tablewriter.WithRenderer(renderer.NewMarkdown()))
	if err != nil {
		return err
	}
	return p.write(b)
}

// render draws cells, the first row being the header, without any cleverness
// of the library: no upper case, no wrapping, no trimming.
func render(cells [][]string, opts ...tablewriter.Option) ([]byte, error) {
	var b bytes.Buffer
	t := tablewriter.NewTable(&b, append([]tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
	}, opts...)...)
	t.Header(cells[0])
	if err := t.Bulk(cells[1:]); err != nil {
		return nil, err
	}
	if err := t.Render(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fit cuts cells with … so that the rows are at most width columns wide, the
// widest column first.
func fit(cells [][]string, width int) {
	widths := make([]int, len(cells[0]))
	total := gap * (len(widths) - 1)
	for i := range widths {
		for _, row := range cells {
			widths[i] = max(widths[i], twwidth.Width(row[i]))
		}
		total += widths[i]
	}
	for total > width {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
		total--
	}
	for _, row := range cells {
		for i, cell := range row {
			if twwidth.Width(cell) > widths[i] {
				row[i] = twwidth.Truncate(cell, widths[i]-1) + "…"
			}
		}
	}
}
