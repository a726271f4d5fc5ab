// Command svg draws what tmux captured as one picture that moves.
//
//	svg DIR >recording.svg
//
// DIR holds the frames in the order of their names: NAME.0, NAME.1, ... are the
// terminals, the first on top, as tmux capture-pane -e prints them, and NAME.ms is for
// how many milliseconds they are seen. NAME.title, a line for each terminal, says what
// stands above it; it holds until the next.
package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels. The cell is that of a common 14 px monospaced font; every run of
// text is stretched to its cells, so that the reader's font does not matter.
const (
	cellWidth  = 8.4
	cellHeight = 18
	fontSize   = 14
	margin     = 12
	titleBar   = 26
	gap        = 10
)

const (
	ink   = "#d4d7dd"
	paper = "#16181d"
	bar   = "#262a33"
)

// palette are the eight colours and their bright kin.
var palette = [16]string{
	"#3b404a", "#f0717b", "#8fce7a", "#e8c26a", "#6fb3f2", "#c792ea", "#6fd3d3", "#d4d7dd",
	"#6b7280", "#ff8b94", "#a8e394", "#f5d68a", "#8fc7ff", "#dab1f5", "#8fe6e6", "#ffffff",
}

// look is how a cell is drawn.
type look struct {
	fg, bg             string
	bold, dim, reverse bool
}

// span is text of one look, from a column on.
type span struct {
	look
	column, cells int
	text          string
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "svg:", err)
		os.Exit(1)
	}
}

// frame is what is seen at one time.
type frame struct {
	screens [][][]span // by terminal and line
	titles  []string
	ms      int
}

func run(args []string, to io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: svg DIR")
	}
	frames, err := load(args[0])
	if err != nil {
		return err
	}
	doc := draw(frames)
	for d := xml.NewDecoder(bytes.NewReader(doc)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("the picture is no XML: %w", err)
		}
	}
	_, err = to.Write(doc)
	return err
}

func load(dir string) ([]frame, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.ms"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s has no frames", dir)
	}
	slices.Sort(names)
	var frames []frame
	var titles []string
	for _, name := range names {
		stem := strings.TrimSuffix(name, ".ms")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := frame{}
		if f.ms, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil || f.ms <= 0 {
			return nil, fmt.Errorf("%s: expected milliseconds, got %q", name, text)
		}
		if text, err := os.ReadFile(stem + ".title"); err == nil {
			titles = strings.Split(strings.TrimSpace(string(text)), "\n")
		}
		f.titles = titles
		for i := 0; ; i++ {
			text, err := os.ReadFile(fmt.Sprintf("%s.%d", stem, i))
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			var lines [][]span
			var l look
			for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				lines = append(lines, parse(line, &l))
			}
			f.screens = append(f.screens, lines)
		}
		if len(f.screens) == 0 {
			return nil, fmt.Errorf("%s.0 is missing", stem)
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// parse takes a captured line apart. The look goes on to the next line.
func parse(line string, l *look) []span {
	var spans []span
	column := 0
	for line != "" {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			codes, after, found := strings.Cut(rest, "m")
			if !found {
				break
			}
			l.set(codes)
			line = after
			continue
		}
		if line[0] < ' ' { // shift in and out of line drawing: tmux prints UTF-8 all the same
			line = line[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		wide := cells(r)
		if n := len(spans); n > 0 && spans[n-1].look == *l && wide == 1 {
			spans[n-1].text += string(r)
			spans[n-1].cells++
		} else {
			spans = append(spans, span{*l, column, wide, string(r)})
		}
		column += wide
	}
	return spans
}

// cells is how wide a character is, for those that the demo shows.
func cells(r rune) int {
	if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300) {
		return 2
	}
	return 1
}

// set applies the codes of one SGR sequence.
func (l *look) set(codes string) {
	fields := strings.Split(codes, ";")
	for i := 0; i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i]) // none is 0
		switch {
		case n == 0:
			*l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 7:
			l.reverse = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 27:
			l.reverse = false
		case n >= 30 && n <= 37:
			l.fg = palette[n-30]
		case n >= 90 && n <= 97:
			l.fg = palette[n-90+8]
		case n == 39:
			l.fg = ""
		case n >= 40 && n <= 47:
			l.bg = palette[n-40]
		case n >= 100 && n <= 107:
			l.bg = palette[n-100+8]
		case n == 49:
			l.bg = ""
		case (n == 38 || n == 48) && i+2 < len(fields) && fields[i+1] == "5":
			c, _ := strconv.Atoi(fields[i+2])
			if n == 38 {
				l.fg = indexed(c)
			} else {
				l.bg = indexed(c)
			}
			i += 2
		}
	}
}

// indexed is a colour of the 256: the palette, a 6x6x6 cube, 24 greys.
func indexed(c int) string {
	switch {
	case c < 16:
		return palette[max(0, c)]
	case c < 232:
		level := func(n int) int {
			if n == 0 {
				return 0
			}
			return 55 + 40*n
		}
		c -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(c/36), level(c/6%6), level(c%6))
	}
	grey := 8 + 10*(min(c, 255)-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}

// draw makes the picture. The frames lie on top of each other, and each is visible in
// its time; who wants nothing to move sees the one in the middle.
func draw(frames []frame) []byte {
	var b bytes.Buffer
	columns, height := 0, 0
	tops := []int{}
	for i := range frames[0].screens {
		rows := 0
		for _, f := range frames {
			if i < len(f.screens) {
				rows = max(rows, len(f.screens[i]))
				for _, line := range f.screens[i] {
					if n := len(line); n > 0 {
						columns = max(columns, line[n-1].column+line[n-1].cells)
					}
				}
			}
		}
		tops = append(tops, height)
		height += titleBar + rows*cellHeight + margin
		if i+1 < len(frames[0].screens) {
			height += gap
		}
	}
	width := int(float64(columns)*cellWidth) + 2*margin
	total := 0
	for _, f := range frames {
		total += f.ms
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="kx agent run in one terminal, kx approve in another">`+"\n", width, height)
	b.WriteString("<style>\n")
	fmt.Fprintf(&b, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:%s;white-space:pre}\n.t{fill:#9aa1ad}\n.b{font-weight:bold}\n.d{opacity:.62}\n", fontSize, ink)
	at, still := 0, len(frames)/2
	for i, f := range frames {
		from, to := float64(at)/float64(total)*100, float64(at+f.ms)/float64(total)*100
		at += f.ms
		hidden := "visibility:hidden"
		if i == still {
			hidden = ""
		}
		fmt.Fprintf(&b, ".f%d{%s}\n", i, hidden)
		fmt.Fprintf(&b, "@media (prefers-reduced-motion:no-preference){.f%d{visibility:hidden;animation:k%d %dms infinite step-end}}\n", i, i, total)
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}\n", i, from, to)
	}
	b.WriteString("</style>\n")
	for i, top := range tops {
		bottom := height
		if i+1 < len(tops) {
			bottom = tops[i+1] - gap
		}
		fmt.Fprintf(&b, `<rect y="%d" width="%d" height="%d" rx="8" fill="%s"/><rect y="%d" width="%d" height="%d" rx="8" fill="%s"/>`+"\n", top, width, bottom-top, paper, top, width, titleBar-6, bar)
	}
	for i, f := range frames {
		fmt.Fprintf(&b, `<g class="f%d">`+"\n", i)
		for j, screen := range f.screens {
			if j < len(f.titles) {
				fmt.Fprintf(&b, `<text class="t" x="%d" y="%d">%s</text>`+"\n", margin, tops[j]+titleBar-11, html.EscapeString(f.titles[j]))
			}
			for row, line := range screen {
				y := tops[j] + titleBar + (row+1)*cellHeight - 5
				for _, s := range line {
					s.draw(&b, y)
				}
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw writes a span whose letters stand on y.
func (s span) draw(b *bytes.Buffer, y int) {
	fg, bg := s.fg, s.bg
	if s.reverse {
		fg, bg = bg, fg
		if fg == "" {
			fg = paper
		}
		if bg == "" {
			bg = ink
		}
	}
	x, width := margin+float64(s.column)*cellWidth, float64(s.cells)*cellWidth
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x, y-cellHeight+5, width, cellHeight, bg)
	}
	if strings.TrimSpace(s.text) == "" {
		return
	}
	var class []string
	if s.bold {
		class = append(class, "b")
	}
	if s.dim {
		class = append(class, "d")
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"`, x, y, width)
	if len(class) > 0 {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(class, " "))
	}
	if fg != "" {
		fmt.Fprintf(b, ` style="fill:%s"`, fg)
	}
	fmt.Fprintf(b, ` xml:space="preserve">%s</text>`+"\n", html.EscapeString(s.text))
}
