package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/tools/file/place"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestReadFile(t *testing.T) {
	w := newWorkspace(t)
	long := strings.Repeat("é", maxLineChars+5)
	for _, c := range []struct {
		what, content string
		input         map[string]any
		text          string
		fields        map[string]any // beside text, path, sha256
	}{
		{"plain", "a\n\tb\n", nil, "     1\ta\n     2\t\tb", map[string]any{"total_lines": int64(2)}},
		{"no line end at the end", "a\nb", nil, "     1\ta\n     2\tb", map[string]any{"total_lines": int64(2)}},
		{"empty", "", nil, "[the file is empty]", map[string]any{"total_lines": int64(0)}},
		{"one empty line", "\n", nil, "     1\t", map[string]any{"total_lines": int64(1)}},
		{"only a byte order mark", "\xef\xbb\xbf", nil, "[the file is empty]", map[string]any{"total_lines": int64(0)}},
		{"byte order mark", "\xef\xbb\xbfa\n", nil, "     1\ta", map[string]any{"total_lines": int64(1)}},
		{"a window", "a\nb\nc\nd\n", map[string]any{"offset": 2, "limit": 2}, "     2\tb\n     3\tc\n[lines 2-3 of 4; read on with offset 4]",
			map[string]any{"total_lines": int64(4), "next_offset": int64(4)}},
		{"a window at the end", "a\nb\nc\n", map[string]any{"offset": 3, "limit": 2}, "     3\tc", map[string]any{"total_lines": int64(3)}},
		{"CRLF", "a\r\nb\r\n", nil, "     1\ta\n     2\tb\n[line ends: crlf]", map[string]any{"total_lines": int64(2), "line_endings": "crlf"}},
		{"CRLF and LF", "a\r\nb\n", nil, "     1\ta\n     2\tb\n[line ends: mixed]", map[string]any{"total_lines": int64(2), "line_endings": "mixed"}},
		{"CR in a line", "a\rb\n", nil, "     1\ta\rb", map[string]any{"total_lines": int64(1)}},
		{"not UTF-8", "caf\xe9 au lait\n", nil, "     1\tcaf\uFFFD au lait\n[bytes that are not UTF-8 text are shown as U+FFFD]",
			map[string]any{"total_lines": int64(1), "encoding_note": "bytes that are not UTF-8 text are shown as U+FFFD"}},
		{"a long line", long + "\nb", nil, "     1\t" + long[:2*maxLineChars] + " [... 10 more bytes in this line]\n     2\tb", map[string]any{"total_lines": int64(2)}},
		{"a line longer than the buffer", strings.Repeat("x", 50000) + "\r\nb\r\n", nil,
			"     1\t" + strings.Repeat("x", maxLineChars) + " [... 48000 more bytes in this line]\n     2\tb\n[line ends: crlf]",
			map[string]any{"total_lines": int64(2), "line_endings": "crlf"}},
	} {
		w.put("f", c.content, 0o644)
		input := map[string]any{"path": "f"}
		for k, v := range c.input {
			input[k] = v
		}
		out, err := w.call("read_file", input)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		c.fields["text"], c.fields["path"], c.fields["sha256"] = c.text, "f", sum(c.content)
		if d := cmp.Diff(c.fields, map[string]any(out)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

// The CR and the LF of a line end lie in two buffers.
func TestReadFileSplitLineEnd(t *testing.T) {
	w := newWorkspace(t)
	for n := place.SniffLen + 180; n < place.SniffLen+200; n++ {
		w.put("f", strings.Repeat("x", n)+"\r\nb\r\n", 0o644)
		out, err := w.call("read_file", map[string]any{"path": "f"})
		if err != nil || out["line_endings"] != "crlf" || strings.Contains(out.Text(), "\r") {
			t.Fatalf("at %d: %v %v", n, out["line_endings"], err)
		}
	}
}

func TestReadFileCapsText(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", strings.Repeat(strings.Repeat("x", 999)+"\n", 1000), 0o644)
	out, err := w.call("read_file", map[string]any{"path": "f"})
	next, _ := out["next_offset"].(int64)
	if err != nil || next < 200 || next > 262 || len(out.Text()) > maxText+200 {
		t.Fatalf("next offset %d, %d bytes, %v", next, len(out.Text()), err)
	}
	out, err = w.call("read_file", map[string]any{"path": "f", "offset": next})
	if want := fmt.Sprintf("%6d\tx", next); err != nil || !strings.HasPrefix(out.Text(), want) {
		t.Errorf("the next window begins with %.20q, want %q", out.Text(), want)
	}
}

// Whatever the bytes are, each line is shown once, and the text is valid.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), uint8(2), uint8(1))
	f.Add([]byte("\xff\x00\r\r\n"), uint8(1), uint8(9))
	f.Fuzz(func(t *testing.T, content []byte, first, limit uint8) {
		w := &window{first: int64(first) + 1, limit: int64(limit) + 1, sum: sha256.New(), whole: true}
		if err := w.read(context.Background(), bufio.NewReaderSize(bytes.NewReader(content), 16)); err != nil {
			t.Fatal(err)
		}
		total := int64(lineCount(content))
		out := w.output("f")
		next, more := out["next_offset"].(int64)
		if w.lines != total || out["sha256"] != sum(string(content)) || !utf8.ValidString(out.Text()) {
			t.Fatalf("%q: %v", content, out)
		}
		if end := w.first + w.limit; more != (end <= total) || more && next != end {
			t.Fatalf("%q from %d, %d lines: next %d", content, w.first, w.limit, next)
		}
	})
}

func TestReadFileHuge(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "first\nsecond\n", 0o644)
	w.must(os.Truncate(w.path("f"), place.MaxWhole+1)) // a hole: costs no disk
	f, err := os.OpenFile(w.path("f"), os.O_WRONLY, 0)
	w.must(err)
	for at := int64(12); at < 16000; at += 8 { // text in the part that is looked at
		_, err = f.WriteAt([]byte("\nsome ab"), at)
		w.must(err)
	}
	w.must(f.Close())
	out, ferr := w.call("read_file", map[string]any{"path": "f", "offset": 2, "limit": 1})
	if ferr != nil {
		t.Fatal(ferr)
	}
	want := "     2\tsecond\n[lines 2-2; read on with offset 3]\n[larger than 64.0 MiB: no sha256]"
	if out.Text() != want || out["sha256"] != nil || out["total_lines"] != nil || out["next_offset"] != int64(3) || out["note"] == nil {
		t.Errorf("%v", out)
	}
}

func TestReadFileRefuses(t *testing.T) {
	w := newWorkspace(t)
	w.put("text", "a\nb\n", 0o644)
	w.put("elf", "\x7fELF\x02\x01\x01\x00\x00", 0o644)
	w.put("data", "abc\x00def", 0o644)
	w.put("noise", strings.Repeat("\xc3\x28\x9f", 100), 0o644)
	w.put("utf16", "\xff\xfea\x00b\x00", 0o644)
	w.must(os.Mkdir(w.path("folder"), 0o755))
	w.must(syscall.Mkfifo(w.path("pipe"), 0o644))
	w.must(os.Symlink("text", w.path("link")))
	w.must(os.Symlink("/etc/passwd", w.path("away")))
	w.must(os.Symlink(".", w.path("loop")))
	for _, c := range []struct {
		what  string
		input map[string]any
		code  string
		exit  int
		words string
	}{
		{"missing", map[string]any{"path": "nonesuch"}, "no_such_file", 8, "nonesuch does not exist"},
		{"missing outside", map[string]any{"path": "/nonesuch/a/b"}, "no_such_file", 8, "/nonesuch/a/b does not exist"},
		{"below a file", map[string]any{"path": "text/x"}, "not_a_folder", 1, "text is not a folder"},
		{"folder", map[string]any{"path": "folder"}, "is_folder", 1, "is a folder"},
		{"pipe", map[string]any{"path": "pipe"}, "not_a_file", 1, "a pipe"},
		{"device", map[string]any{"path": "/dev/zero"}, "not_a_file", 1, "a device"},
		{"program", map[string]any{"path": "elf"}, "binary_file", 1, "an ELF program or library, 9 bytes"},
		{"NUL", map[string]any{"path": "data"}, "binary_file", 1, "unknown binary data, 7 bytes"},
		{"mostly not UTF-8", map[string]any{"path": "noise"}, "binary_file", 1, "300 bytes"},
		{"UTF-16", map[string]any{"path": "utf16"}, "utf16_file", 1, "UTF-16"},
		{"link", map[string]any{"path": "link"}, "path_changed", 7, "symbolic link"},
		{"link out", map[string]any{"path": "away"}, "path_changed", 7, "symbolic link"},
		{"through a link", map[string]any{"path": "loop/text"}, "path_changed", 7, "symbolic link"},
		{"relative", map[string]any{"path": "/" + "x/../text"}, "invalid_input", 2, "not absolute and clean"},
		{"NUL in the name", map[string]any{"path": "te\x00xt"}, "invalid_input", 2, "clean"},
		{"long name", map[string]any{"path": strings.Repeat("n", 256)}, "invalid_input", 2, "too long"},
		{"no path", map[string]any{}, "invalid_input", 2, "missing"},
		{"empty path", map[string]any{"path": ""}, "invalid_input", 2, ""},
		{"offset 0", map[string]any{"path": "text", "offset": 0}, "invalid_input", 2, "offset"},
		{"limit 0", map[string]any{"path": "text", "limit": 0}, "invalid_input", 2, "limit"},
		{"past the end", map[string]any{"path": "text", "offset": 3}, "past_end", 1, "has 2 lines"},
	} {
		w.fails(c.what, "read_file", c.input, c.code, c.exit, c.words)
	}
}

func TestReadFileOutside(t *testing.T) {
	w, other := newWorkspace(t), newWorkspace(t)
	other.put("d/f", "a\n", 0o644)
	out, err := w.call("read_file", map[string]any{"path": other.path("d/f")})
	if err != nil || out["path"] != other.path("d/f") || out.Text() != "     1\ta" {
		t.Errorf("%v %v", out, err)
	}
	w.must(os.Symlink(other.path("d"), other.path("link")))
	other.put("d/e/g", "a\n", 0o644)
	for _, p := range []string{"link/f", "link/e/g", "link/e/new"} {
		w.fails(p, "read_file", map[string]any{"path": other.path(p)}, "path_changed", 7, "link")
	}
}

func TestHostileNames(t *testing.T) {
	w := newWorkspace(t)
	for _, n := range hostile {
		if !strings.HasPrefix(n, "\xff") { // such a name can't be said in JSON
			for _, input := range []map[string]any{
				{"tool": "write_file", "path": "d/" + n, "content": "old\n"},
				{"tool": "edit_file", "path": "d/" + n, "old_string": "old", "new_string": "new"},
				{"tool": "read_file", "path": "d/" + n},
			} {
				name := input["tool"].(string)
				delete(input, "tool")
				out, err := w.call(name, input)
				if err != nil || out["path"] != "d/"+n {
					t.Errorf("%s %q: %v %v", name, n, out["path"], err)
				}
				if strings.Contains(out.Text(), "new\nline") || strings.Contains(out.Text(), "\x1b") {
					t.Errorf("%s: the text takes %q as it is: %q", name, n, out.Text())
				}
			}
			if got := w.get("d/" + n); got != "new\n" {
				t.Errorf("%q holds %q", n, got)
			}
		}
	}
	w.clean()
}
