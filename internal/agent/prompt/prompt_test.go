package prompt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/state"
)

// house is a home with a workspace, and rules.
type house struct {
	*Builder
	t        *testing.T
	home, ws string
	opts     judge.Options
}

func newHouse(t *testing.T, rules string) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, home: filepath.Join(dir, "home"), ws: filepath.Join(dir, "home/ws")}
	h.write("../config/policy.toml", rules)
	h.write("ws/a.txt", "alpha\n")
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	h.opts = judge.Options{
		Dirs:      paths.Dirs{UID: os.Getuid(), Home: h.home, State: st.Dir(), Config: filepath.Join(dir, "config"), Runtime: filepath.Join(dir, "run")},
		Workspace: h.ws, Cwd: h.ws, State: st,
	}
	h.Builder = &Builder{
		Open: func() (*judge.Judge, error) { return judge.Open(h.opts) }, Home: h.home,
		Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) },
	}
	return h
}

func (h *house) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) task(text string, attach ...string) *Task {
	h.t.Helper()
	task, err := h.Task(text, attach)
	if err != nil {
		h.t.Fatal(err)
	}
	return task
}

// lost are the sources with what is lost of them.
func lost(list []Source) string {
	var all []string
	for _, s := range list {
		if s.Kind == KindAttached || s.Kind == KindProject {
			all = append(all, strings.TrimSuffix(s.Source+": "+s.Lost, ": "))
		}
	}
	return strings.Join(all, "\n")
}

const closed = `
[[rule]]
effect = "read"
path = "secret/**"
decision = "deny"
reason = "it is secret"
[[rule]]
effect = "read"
path = "maybe/**"
decision = "ask"
`

// What is attached is decided by policy, is small, and each loss is told to person and
// model alike.
func TestAttached(t *testing.T) {
	h := newHouse(t, closed)
	h.write("ws/long.txt", strings.Repeat("0123456789\n", 3000))
	h.write("ws/huge.txt", strings.Repeat("x", 70<<10))
	h.write("ws/secret/x", "s")
	h.write("ws/maybe/x", "m")
	h.write("ws/bin", "\x7fELF\x00\x00")
	h.write("ws/.ssh/id_rsa", "k")
	h.write(".ssh/id_rsa", "k")
	h.write("ws/with space.txt", "spaced\n")
	h.write("ws/dir/b", "")
	h.write("ws/dir/c/d", "")
	h.write("ws/empty", "")
	h.write("out.txt", "outside\n")
	if err := os.Symlink("../out.txt", filepath.Join(h.ws, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret/x", filepath.Join(h.ws, "alias")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ word, lost, text string }{
		{"@a.txt", "a.txt", "--- a.txt (6 bytes) ---\nalpha\n--- end of a.txt ---\n"},
		{"@long.txt", "long.txt: only the first 1023 bytes of 32.2 KiB are attached", "read_file shows the rest) ---\n0123456789\n"},
		{"@huge.txt", "huge.txt: it has 70.0 KiB, more than 64.0 KiB: read what you need of it with read_file", "[huge.txt is not attached: it has 70.0 KiB"},
		{"@secret/x", "secret/x: reading it is denied: it is secret", "[secret/x is not attached: reading it is denied: it is secret]"},
		{"@alias", "alias: reading it is denied: it is secret", "[alias is not attached"},
		{"@maybe/x", "maybe/x: reading it needs a person's answer: read_file asks for it", "[maybe/x is not attached"},
		{"@bin", "bin: it is not text: an ELF program or library, 6 bytes", "[bin is not attached"},
		{"@.ssh/id_rsa", ".ssh/id_rsa: it is protected: ", "[.ssh/id_rsa is not attached: it is protected"},
		{"@~/.ssh/id_rsa", "~/.ssh/id_rsa: it is protected: ", "[~/.ssh/id_rsa is not attached: it is protected"},
		{"@../out.txt", "../out.txt: it is outside of the workspace: --attach takes it", "[../out.txt is not attached"},
		{"@link", "link: it is outside of the workspace: --attach takes it", "[link is not attached"},
		{`@"with space.txt"`, "with space.txt", "spaced"},
		{"@dir", "dir", "--- folder dir ---\nb\nc/\n--- end of dir ---\n"},
		{"@empty", "empty", "--- empty (0 bytes) ---\n--- end of empty ---\n"},
		{"@nothing", "", ""},
		{"see @a.txt, @a.txt and @./a.txt", "a.txt", "alpha"},
	} {
		task := h.task("go " + c.word)
		if got := lost(task.Sources); !strings.HasPrefix(got, c.lost) || c.lost == "" && got != "" {
			t.Errorf("%s: sources %q", c.word, got)
		}
		if !strings.Contains(task.Attached, c.text) || strings.Contains(task.Attached, "s\n---") && c.word == "@secret/x" {
			t.Errorf("%s: attached %q", c.word, task.Attached)
		}
		if task.Prompt != "go "+c.word {
			t.Errorf("%s: prompt %q", c.word, task.Prompt)
		}
	}
	// What a person names on the command line may come from outside, and is not asked
	// about; what is denied or protected stays so.
	for name, text := range map[string]string{"out.txt": "/out.txt (8 bytes, from outside of the workspace) ---\noutside\n", "ws/maybe/x": "\nm\n", "ws/secret/x": "denied", "ws/.ssh/id_rsa": "protected"} {
		if task := h.task("go", filepath.Join(h.home, name)); !strings.Contains(task.Attached, text) {
			t.Errorf("--attach %s: %q", name, task.Attached)
		}
	}
}

func TestAttachable(t *testing.T) {
	h := newHouse(t, closed)
	h.write("ws/secret/x", "s")
	h.write("ws/maybe/x", "m")
	h.write(".ssh/id_rsa", "k")
	h.write("out.txt", "o")
	j, err := h.Open()
	if err != nil {
		t.Fatal(err)
	}
	for name, exit := range map[string]int{
		"ws/a.txt": 0, "out.txt": 0, "ws/maybe/x": 0, "ws": 0, "nothing": fail.ExitUsage, "ws/secret/x": fail.ExitDenied, ".ssh/id_rsa": fail.ExitDenied,
	} {
		if err := Attachable(j, h.home, []string{filepath.Join(h.home, name)}); fail.Exit(err) != exit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// All together have a limit, and a folder shows so many names.
func TestAttachedLimits(t *testing.T) {
	h := newHouse(t, closed)
	words := ""
	for i := range 20 {
		h.write(fmt.Sprintf("ws/f%02d", i), strings.Repeat("0123456789abcde\n", 1000)) // just below 16 KiB
		words += fmt.Sprintf(" @f%02d", i)
	}
	task := h.task(words)
	if n := len(task.Attached); n > maxAttached+4<<10 || n < maxAttached-16<<10 {
		t.Errorf("%d bytes", n)
	}
	if got := strings.Count(lost(task.Sources), "more than 200.0 KiB together"); got != 8 {
		t.Errorf("%d files are left out:\n%s", got, lost(task.Sources))
	}
	for i := range 250 {
		h.write(fmt.Sprintf("ws/many/%03d", i), "")
	}
	task = h.task("@many")
	if got := lost(task.Sources); got != "many: 200 of 250 entries are listed, list_files shows the rest" || strings.Count(task.Attached, "\n") != 204 {
		t.Errorf("%s: %d lines", got, strings.Count(task.Attached, "\n"))
	}
	h.write("ws/secret/x", "")
	if task := h.task("@secret/../."); strings.Contains(task.Attached, "f00") != true {
		t.Errorf("the workspace: %q", task.Attached)
	}
	if task := h.task(strings.Repeat("@a.txt @many ", 10_000)); len(task.Sources) != 2 {
		t.Errorf("%d sources", len(task.Sources))
	}
}

func TestImages(t *testing.T) {
	h := newHouse(t, "")
	for name, head := range map[string]string{
		"a.png": "\x89PNG\r\n\x1a\nIEND", "b": "\xff\xd8\xff\xe0\xff\xd9", "c.gif": "GIF89a;", "d.webp": "RIFF\x0c\x00\x00\x00WEBPVP8 ",
	} {
		h.write("ws/"+name, head+"rest")
	}
	for name, text := range map[string]string{
		"cut.png": "\x89PNG\r\n\x1a\nIHDR", "cut.jpg": "\xff\xd8\xff\xe0", "cut.gif": "GIF87a", "cut.webp": "RIFF\xff\xff\xff\xffWEBPVP8 ", "no.webp": "abcdefghWEBP is what this text speaks of",
	} {
		h.write("ws/"+name, text)
	}
	h.write("ws/big.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", maxImage))
	h.write("ws/e.wav", "RIFF\x00\x00\x00\x00WAVE")
	task := h.task("@a.png @b @c.gif @d.webp @big.png @e.wav @cut.png @cut.jpg @cut.gif @cut.webp @no.webp")
	var got []string
	for _, i := range task.Images {
		got = append(got, i.MediaType)
		if !bytes.HasSuffix(i.Data, []byte("rest")) {
			t.Errorf("image %q", i.Data)
		}
	}
	if strings.Join(got, " ") != "image/png image/jpeg image/gif image/webp" {
		t.Errorf("images %v", got)
	}
	if l := lost(task.Sources); !strings.Contains(l, "big.png: the image has 5120.0 KiB, more than 5120.0 KiB") || !strings.Contains(l, "e.wav: it is not text") {
		t.Errorf("lost %s", l)
	}
	if l := lost(task.Sources); strings.Count(l, "the image is damaged: its end is missing") != 4 || !strings.Contains(task.Attached, "what this text speaks of") {
		t.Errorf("lost %s", l)
	}
	if task.Sources[0].Tokens != 1000 || !strings.Contains(task.Attached, "[image 2: b]") {
		t.Errorf("%+v, %q", task.Sources[0], task.Attached)
	}
	for i := range 6 {
		h.write(fmt.Sprintf("ws/%d.png", i), "\x89PNG\r\n\x1a\nIEND"+strings.Repeat("x", maxImage-12))
	}
	if task := h.task("@0.png @1.png @2.png @3.png @4.png @5.png"); len(task.Images) != 4 || strings.Count(lost(task.Sources), "20.0 MiB together") != 2 {
		t.Errorf("%d images, lost %s", len(task.Images), lost(task.Sources))
	}
}

// A project speaks from its root down to the current folder, as policy lets it be read.
func TestSystem(t *testing.T) {
	h := newHouse(t, closed)
	h.write("ws/AGENTS.md", "root rules\n")
	h.write("ws/CLAUDE.md", "not read\n")
	h.write("ws/web/CLAUDE.md", "web rules\n")
	h.write("ws/web/app/AGENTS.md", "app rules\n")
	h.write("ws/other/AGENTS.md", "other rules\n")
	h.opts.Cwd = filepath.Join(h.ws, "web/app")
	tools := []model.Tool{{Name: "todo_write", Description: "keeps a list", InputSchema: []byte(`{}`)}}
	system := func() *System {
		t.Helper()
		s, err := h.System(tools)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := system()
	at := 0
	for _, part := range []string{"Workspace: " + h.ws, "Current folder: " + h.opts.Cwd, "Sunday, 1 March 2026", "Mode default: ", "todo_write", "# AGENTS.md, ", "root rules", "# web/CLAUDE.md, ", "web rules", "# web/app/AGENTS.md", "app rules"} {
		i := strings.Index(s.Text[at:], part)
		if i < 0 {
			t.Fatalf("%q is not where it belongs in\n%s", part, s.Text)
		}
		at += i
	}
	for _, part := range []string{"not read", "other rules", "emit_output"} {
		if strings.Contains(s.Text, part) {
			t.Errorf("%q is in\n%s", part, s.Text)
		}
	}
	var names []string
	for _, src := range s.Sources {
		names = append(names, src.Source)
		if src.Tokens == 0 || src.SHA256 == "" {
			t.Errorf("source %+v", src)
		}
	}
	if strings.Join(names, " ") != "kx AGENTS.md web/CLAUDE.md web/app/AGENTS.md tools" {
		t.Errorf("sources %v", names)
	}
	if again := system(); again.Text != s.Text {
		t.Error("it differs without a reason")
	}

	// It is read afresh, cut where it is long, and left out where it is closed.
	h.write("ws/AGENTS.md", strings.Repeat("a rule of the project\n", 3000))
	h.write("ws/web/app/AGENTS.md", "\x00\x01")
	if err := os.Remove(filepath.Join(h.ws, "web/CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret/x", filepath.Join(h.ws, "web/AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	h.write("ws/secret/x", "hidden words")
	s = system()
	want := "AGENTS.md: only the first 32.0 KiB of 64.5 KiB are read\nweb/AGENTS.md: reading it is denied: it is secret\nweb/app/AGENTS.md: it is not text: unknown binary data, 2 bytes"
	if got := lost(s.Sources); got != want {
		t.Errorf("lost\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(s.Text, "hidden words") || len(s.Text) > maxProjectFile+4<<10 || !strings.Contains(s.Text, "[only the first 32.0 KiB of 64.5 KiB are read; read_file shows the rest]") {
		t.Errorf("%d bytes", len(s.Text))
	}
	if !strings.Contains(s.Text, "\na rule of the project\n[only the first") {
		t.Error("a line is cut in the middle")
	}

	h.opts.Scope = scope.Scope{Capability: scope.Capability{ToolDeny: scope.List{"read_file"}}}
	if s := system(); strings.Contains(s.Text, "a rule of the project") {
		t.Error("a session without read_file reads")
	}
}

func TestMentions(t *testing.T) {
	there := func(path string) bool {
		switch path {
		case "a", "b/c.go", "x y", "v1.", "types":
			return true
		}
		return false
	}
	for prompt, want := range map[string]string{
		"@a":                      "a",
		"see @a, then (@b/c.go).": "a b/c.go",
		"me@a @@a x/@a":           "",
		`\@a and \@z`:             "",
		`@"x y" '@a' "@a"`:        "x y a a",
		`@"x y`:                   "",
		"@v1. @v1..":              "v1. v1.",
		"@":                       "",
		"@\n@a":                   "a",
		"@types/node":             "",
		"日本@a、@a":                 "a",
	} {
		if _, got := mentions(prompt, there); strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
	if text, _ := mentions(`\@a \@z \\@a`, there); text != `@a \@z \\@a` {
		t.Errorf("the text is %q", text)
	}
}

func FuzzMentions(f *testing.F) {
	f.Add(`see @a, \@a and @"x y" me@a`)
	f.Fuzz(func(t *testing.T, prompt string) {
		looks := 0
		text, found := mentions(prompt, func(path string) bool { looks++; return strings.HasPrefix(path, "a") })
		if len(text) > len(prompt) || strings.ReplaceAll(prompt, `\@`, "@") != strings.ReplaceAll(text, `\@`, "@") {
			t.Errorf("%q became %q", prompt, text)
		}
		for _, p := range found {
			if !strings.Contains(prompt, p) {
				t.Errorf("%q is not in %q", p, prompt)
			}
		}
	})
}
