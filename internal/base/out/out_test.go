package out

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

type doc struct {
	Type string `json:"type"`
	Name string `json:"name"`
	N    int    `json:"n"`
}

var docs = []doc{{"doc", "plain", 1}, {"doc", "<a|b>&\x1b[31m\u202e", 22}, {"doc", "wide 世界", 333}}

var columns = Columns[doc]{
	Header: []string{"NAME", "N_TH"},
	Row:    func(d doc) []string { return []string{d.Name, strings.Repeat("x", d.N%7)} },
	Empty:  "no docs",
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		name   string
		format Format
		tty    bool
		width  int
		docs   []doc
		out    string
		err    string
	}{
		{"jsonl on a pipe", Auto, false, 0, docs, `{"type":"doc","name":"plain","n":1}
{"type":"doc","name":"<a|b>&\u001b[31m` + "\u202e" + `","n":22}
{"type":"doc","name":"wide 世界","n":333}
`, ""},
		{"jsonl on a terminal", JSONL, true, 80, docs[1:2], `{"type":"doc","name":"<a|b>&\u001b[31m\u202e","n":22}` + "\n", ""},
		{"no lines", JSONL, false, 0, nil, "", ""},
		{"an array", JSON, false, 0, docs[:2], `[{"type":"doc","name":"plain","n":1},{"type":"doc","name":"<a|b>&\u001b[31m` + "\u202e" + `","n":22}]` + "\n", ""},
		{"an empty array", JSON, false, 0, nil, "[]\n", ""},
		{"an empty array on a terminal", JSON, true, 80, nil, "[]\n", ""},
		{"an array for a person", JSON, true, 80, docs[:2], `[
{
  "type": "doc",
  "name": "plain",
  "n": 1
},
{
  "type": "doc",
  "name": "<a|b>&\u001b[31m\u202e",
  "n": 22
}
]
`, ""},
		{"a table", Auto, true, 80, docs, `NAME                  N_TH
plain                 x
<a|b>&\x1b[31m\u202e  x
wide 世界             xxxx
`, ""},
		{"a table on a pipe", Table, false, 0, docs[:1], "NAME   N_TH\nplain  x\n", ""},
		{"a narrow table", Auto, true, 20, docs, `NAME            N_TH
plain           x
<a|b>&\x1b[31…  x
wide 世界       xxxx
`, ""},
		{"an empty table", Auto, true, 80, nil, "", "no docs\n"},
		{"markdown", MD, false, 0, docs[:2], `| NAME                           | N_TH |
|:-------------------------------|:-----|
| plain                          | x    |
| &lt;a\|b>&amp;\\x1b[31m\\u202e | x    |
`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, out, errs := term.Test()
			s.OutTTY, s.Width = c.tty, c.width
			if err := List(New(s, c.format, false), columns, c.docs); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.out, out.String()); diff != "" {
				t.Errorf("stdout -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.err, errs.String()); diff != "" {
				t.Errorf("stderr -want +got:\n%s", diff)
			}
		})
	}
}

// TestHalfWay fails after two records: what is on the output is complete.
func TestHalfWay(t *testing.T) {
	broken := fail.Failed("broken", "it broke")
	for format, want := range map[Format]string{
		JSON:  `[{"type":"doc","name":"plain","n":1},{"type":"doc","name":"plain","n":1}]` + "\n",
		JSONL: strings.Repeat(`{"type":"doc","name":"plain","n":1}`+"\n", 2),
		Table: "NAME   N_TH\nplain  x\nplain  x\n",
	} {
		s, _, out, _ := term.Test()
		err := Each(New(s, format, false), columns, func(emit func(doc) error) error {
			return errors.Join(emit(docs[0]), emit(docs[0]), broken)
		})
		if !errors.Is(err, broken) || out.String() != want {
			t.Errorf("%s: %v\n got %q\nwant %q", format, err, out, want)
		}
	}
	s, _, out, _ := term.Test()
	err := Each(New(s, JSON, false), Columns[any]{}, func(emit func(any) error) error {
		return errors.Join(emit(docs[0]), emit(make(chan int)))
	})
	if err == nil || !json.Valid(out.Bytes()) {
		t.Errorf("a document that cannot be written: %v, %q", err, out)
	}
}

// counter counts the writes and fails from the given one on.
type counter struct {
	bytes.Buffer
	writes, failAt int
}

func (c *counter) Write(b []byte) (int, error) {
	if c.writes++; c.failAt > 0 && c.writes >= c.failAt {
		return 0, os.ErrClosed
	}
	return c.Buffer.Write(b)
}

func TestEveryRecordIsOneWrite(t *testing.T) {
	s, _, _, _ := term.Test()
	w := &counter{}
	s.Out = term.To(w)
	if err := List(New(s, JSONL, false), columns, docs); err != nil || w.writes != len(docs) {
		t.Errorf("%d writes for %d records, %v", w.writes, len(docs), err)
	}
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, format := range []Format{JSON, JSONL, Table, MD} {
		for failAt := 1; failAt <= 2; failAt++ {
			s, _, _, _ := term.Test()
			s.Out = term.To(&counter{failAt: failAt})
			err := List(New(s, format, false), columns, docs)
			one := failAt == 2 && (format == Table || format == MD) // these write once
			if fail.Exit(err) != fail.ExitFailed && !one {
				t.Errorf("%s, write %d fails: %v", format, failAt, err)
			}
		}
		s, _, _, _ := term.Test()
		s.Out = term.To(&counter{failAt: 1})
		if err := New(s, format, false).Record(docs[0], func(t *Text) { t.Printf("x") }); fail.Exit(err) != fail.ExitFailed {
			t.Errorf("a %s record: %v", format, err)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	s, _, _, _ := term.Test()
	s.Out = term.To(full)
	if err := New(s, JSON, false).Record(docs[0], nil); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a full disk: %v", err)
	}
}

func TestForeignFields(t *testing.T) {
	s, _, out, _ := term.Test()
	r := wire.Result{Type: "result", V: 1, Tool: "t", Extra: wire.Extra{"note": json.RawMessage(`"mine"`), "tool": json.RawMessage(`"no"`)}}
	if err := List(New(s, JSONL, false), Columns[wire.Result]{}, []wire.Result{r}); err != nil {
		t.Fatal(err)
	}
	if err := New(s, JSONL, false).Record(&wire.Decision{Extra: r.Extra}, nil); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !strings.HasSuffix(line, `,"note":"mine"}`) || strings.Contains(line, `"no"`) {
			t.Errorf("the line is %s", line)
		}
	}
}

func TestText(t *testing.T) {
	for _, color := range []bool{false, true} {
		s, _, out, _ := term.Test()
		s.OutColor = color
		err := New(s, Table, false).Record(docs[0], func(t *Text) {
			t.Printf("%-6s|%s|%d %v %s\n", t.Paint(Red, "a\x1b"), "b\x1b[0m", 7, errors.New("e\u202e"), []byte{0xff})
			_, _ = t.Write([]byte("\x1b[2J\n"))
		})
		if err != nil {
			t.Fatal(err)
		}
		want := `a\x1b |b\x1b[0m|7 e\u202e \xff` + "\n" + `\x1b[2J` + "\n"
		if color {
			want = "\x1b[31m" + want[:6] + "\x1b[0m" + want[6:]
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("color %v, -want +got:\n%s", color, diff)
		}
	}
}

// What is put into a line can't end it, and a block begins no colour.
func TestSprintf(t *testing.T) {
	type named string
	for _, c := range []struct{ want, got string }{
		{`a\nkx: denied\tx|`, Sprintf("%s|", "a\nkx: denied\tx")},
		{`a\n|"b\\n"`, Sprintf("%s|%q", named("a\n"), "b\n")},
		{`a\r|\xff\n`, Sprintf("%v|%s", errors.New("a\r"), []byte("\xff\n"))},
		{"a\n\tb\\x1b[0m", Sprintf("%s", Block("a\n\tb\x1b[0m"))},
		{"   x  7 true x", Sprintf("%4s %2d %v %c", "x", 7, true, 'x')},
		{`[a\n b]`, Sprintf("%v", []string{"a\n", "b"})},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	painted := (&Text{color: true}).Paint(Red, "a\n\x1b[0m")
	if got, want := Sprintf("%s", painted), "\x1b[31ma\\n\\x1b[0m\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRaw(t *testing.T) {
	for tty, want := range map[bool]string{false: "a\x1b\r\n", true: "a\\x1b\\r\n"} {
		s, _, out, _ := term.Test()
		s.OutTTY = tty
		if err := New(s, Auto, false).Raw([]byte("a\x1b\r\n")); err != nil || out.String() != want {
			t.Errorf("terminal %v: %q %v, want %q", tty, out, err, want)
		}
	}
}

func TestError(t *testing.T) {
	e := fail.Denied("rule", "denied\nhint: rm -rf /\x1b").WithHint("kx policy rules")
	data := `{"type":"error","v":1,"error":{"code":"rule","exit":3,"message":"denied\nhint: rm -rf /\u001b","hint":"kx policy rules"}}` + "\n"
	text := `kx: denied\nhint: rm -rf /\x1b` + "\nhint: kx policy rules\n"
	for _, c := range []struct {
		format Format
		tty    bool
		want   string
	}{
		{Auto, true, text}, {Auto, false, data}, {JSON, true, data}, {JSONL, true, data}, {Table, false, text}, {MD, false, text},
	} {
		s, _, out, errs := term.Test()
		s.OutTTY = c.tty
		if err := Error(s, c.format, e); err != nil || errs.String() != c.want || out.Len() > 0 {
			t.Errorf("%s, terminal %v: %v\n got %q\nwant %q", c.format, c.tty, err, errs, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, f := range Formats {
		if got, ok := Parse(string(f)); !ok || got != f {
			t.Errorf("Parse(%q) = %q, %v", f, got, ok)
		}
	}
	if _, ok := Parse("yaml"); ok {
		t.Error("yaml is no format")
	}
}
