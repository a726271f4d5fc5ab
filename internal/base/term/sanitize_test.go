package term

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSanitize(t *testing.T) {
	flood := strings.Repeat("\u0300", maxMarks)
	for in, want := range map[string][2]string{
		"plain\ttext\n":   {"plain\ttext\n", `plain\ttext\n`},
		"":                {"", ""},
		"back\\slash \\n": {"back\\slash \\n", "back\\slash \\n"},

		// C0: titles, colours, the clipboard, links, device control, cursor moves
		"\x1b]0;title\a":                         {`\x1b]0;title\x07`, `\x1b]0;title\x07`},
		"\x1b]52;c;ZXZpbA==\x1b\\":               {`\x1b]52;c;ZXZpbA==\x1b\`, `\x1b]52;c;ZXZpbA==\x1b\`},
		"\x1b]8;;https://evil\x1b\\ok\x1b]8;;\a": {`\x1b]8;;https://evil\x1b\ok\x1b]8;;\x07`, `\x1b]8;;https://evil\x1b\ok\x1b]8;;\x07`},
		"\x1bP+q544e\x1b\\\x1b[2J\x1b[1A\x1bc":   {`\x1bP+q544e\x1b\\x1b[2J\x1b[1A\x1bc`, `\x1bP+q544e\x1b\\x1b[2J\x1b[1A\x1bc`},
		"a\rb\b\x7f\x00\v\f":                     {`a\rb\x08\x7f\x00\x0b\x0c`, `a\rb\x08\x7f\x00\x0b\x0c`},
		"deny\rallow\r\n":                        {`deny\rallow\r` + "\n", `deny\rallow\r\n`},
		"\x0e\x0f\x05\x18\x1a":                   {`\x0e\x0f\x05\x18\x1a`, `\x0e\x0f\x05\x18\x1a`},

		// C1, as characters and as bytes
		"\u009b31m\u0090\u009d\u0085": {`\u009b31m\u0090\u009d\u0085`, `\u009b31m\u0090\u009d\u0085`},
		"\x9b31m":                     {`\x9b31m`, `\x9b31m`},

		// broken UTF-8: cut off, too long, surrogates, beyond the last
		"a\xff\xc3":                        {`a\xff\xc3`, `a\xff\xc3`},
		"\xc0\x9b\xed\xa0\x80":             {`\xc0\x9b\xed\xa0\x80`, `\xc0\x9b\xed\xa0\x80`},
		"\xf4\x90\x80\x80\ufffd\U0010ffff": {`\xf4\x90\x80\x80` + "\ufffd" + `\U0010ffff`, `\xf4\x90\x80\x80` + "\ufffd" + `\U0010ffff`},

		// direction
		"abc\u202etxt.exe":         {`abc\u202etxt.exe`, `abc\u202etxt.exe`},
		"\u202a\u202b\u202c\u202d": {`\u202a\u202b\u202c\u202d`, `\u202a\u202b\u202c\u202d`},
		"\u2066\u2067\u2068\u2069": {`\u2066\u2067\u2068\u2069`, `\u2066\u2067\u2068\u2069`},
		"\u200e\u200f\u061c\u206a": {`\u200e\u200f\u061c\u206a`, `\u200e\u200f\u061c\u206a`},
		"\u2028\u2029":             {`\u2028\u2029`, `\u2028\u2029`},
		"\ufff9\ufffb\U0001d173":   {`\ufff9\ufffb\U0001d173`, `\ufff9\ufffb\U0001d173`},

		// nothing to see
		"z\u200bw\u200c\u200d\u2060\ufeff\u00ad": {`z\u200bw\u200c\u200d\u2060\ufeff\u00ad`, `z\u200bw\u200c\u200d\u2060\ufeff\u00ad`},
		"\u180b\u180e\u180f\u034f\u17b4\u2064":   {`\u180b\u180e\u180f\u034f\u17b4\u2064`, `\u180b\u180e\u180f\u034f\u17b4\u2064`},
		"\u3164\u115f\u1160\uffa0\u2800":         {`\u3164\u115f\u1160\uffa0\u2800`, `\u3164\u115f\u1160\uffa0\u2800`},
		"\u2065\ufff0\ufff8\ufffe\ufdd0":         {`\u2065\ufff0\ufff8\ufffe\ufdd0`, `\u2065\ufff0\ufff8\ufffe\ufdd0`},
		"tag\U000e0041\U000e007f\U000e0fff":      {`tag\U000e0041\U000e007f\U000e0fff`, `tag\U000e0041\U000e007f\U000e0fff`},
		"\U000e0100\U0001d159\U00016fe4\U0001bca0": {
			`\U000e0100\U0001d159\U00016fe4\U0001bca0`, `\U000e0100\U0001d159\U00016fe4\U0001bca0`},

		// selectors: one behind a symbol, no more
		"❤\ufe0f ⏸\ufe0e":      {"❤\ufe0f ⏸\ufe0e", "❤\ufe0f ⏸\ufe0e"},
		"❤\ufe0f\ufe0fa":       {"❤\ufe0f" + `\ufe0fa`, "❤\ufe0f" + `\ufe0fa`},
		"a\ufe0f\ufe00❤\ufe01": {`a\ufe0f\ufe00❤\ufe01`, `a\ufe0f\ufe00❤\ufe01`},
		"👩\u200d💻":             {`👩\u200d💻`, `👩\u200d💻`},

		// marks: on a character, and not too many
		"e\u0301 ни\u0306":        {"e\u0301 ни\u0306", "e\u0301 ни\u0306"},
		"\u0301a \u20dd":          {`\u0301a \u20dd`, `\u0301a \u20dd`},
		"a\n\u0338":               {"a\n" + `\u0338`, `a\n\u0338`},
		"a\x1b\u0338":             {`a\x1b\u0338`, `a\x1b\u0338`},
		"z" + flood + "\u0489":    {"z" + flood + `\u0489`, "z" + flood + `\u0489`},
		"z" + flood + "z" + flood: {"z" + flood + "z" + flood, "z" + flood + "z" + flood},

		"Grüße 世界 émoji 🎉👍🏽 🇩🇪 … · ─ ﷽ שלום مرحبا ไทย हिन्दी 한국어": {
			"Grüße 世界 émoji 🎉👍🏽 🇩🇪 … · ─ ﷽ שלום مرحبا ไทย हिन्दी 한국어", "Grüße 世界 émoji 🎉👍🏽 🇩🇪 … · ─ ﷽ שלום مرحبا ไทย हिन्दी 한국어"},
	} {
		if got := Sanitize(in); got != want[0] {
			t.Errorf("Sanitize(%+q) = %+q, want %+q", in, got, want[0])
		}
		if got := Line(in); got != want[1] {
			t.Errorf("Line(%+q) = %+q, want %+q", in, got, want[1])
		}
	}
}

// What is left as it is: everything a person needs to see is somewhere in the
// output, nothing that steers or hides is.
func FuzzSanitize(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff\u0085\n\t")
	f.Add("e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301❤\ufe0f\ufe0f\U000e0041")
	f.Add("\r\n\ufe0f\u2800a\x1b\u0338\U0010ffff")
	f.Fuzz(func(t *testing.T, s string) {
		for keep, rule := range map[string]func(string) string{"\n\t": Sanitize, "": Line} {
			got := rule(s)
			if again := rule(got); again != got {
				t.Fatalf("%+q became %+q, and that %+q", s, got, again)
			}
			if most := len(`\U000e0041`) * utf8.RuneCountInString(s); utf8.RuneCountInString(got) > most {
				t.Fatalf("%+q became %+q, which is longer than %d", s, got, most)
			}
			visible(t, got, keep)
		}
		// Sooner or later it stands in JSON, too.
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(doc)
		visible(t, string(shown), "")
		var was, is string
		if json.Unmarshal(doc, &was) != nil || json.Unmarshal(shown, &is) != nil || was != is {
			t.Fatalf("%s became %s", doc, shown)
		}
	})
}

// visible checks what the rule says, without its code.
func visible(t *testing.T, s, keep string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%+q is no UTF-8", s)
	}
	marks, last := maxMarks, rune(0)
	for _, r := range s {
		selector := r == '\ufe0e' || r == '\ufe0f'
		switch {
		case strings.ContainsRune(keep, r):
			marks = maxMarks
		case selector && last > unicode.MaxASCII && unicode.IsSymbol(last):
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), r >= 0xe0000 && r <= 0xe0fff, r >= 0xfe00 && r <= 0xfe0f,
			slices.Contains([]rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2065, 0x2800, 0x3164, 0xffa0}, r):
			t.Fatalf("%+q has %U in it", s, r)
		case unicode.IsMark(r):
			if marks++; marks > maxMarks {
				t.Fatalf("%+q has too many marks, or one on nothing", s)
			}
		case r == ' ':
			marks = maxMarks
		default:
			marks = 0
		}
		last = r
	}
}

func TestJSONOfBrokenText(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\r1}":          `{"a": 1}`, // a return between values is no more than a space
		"\"\x9b31m\"":          `"\ufffd31m"`,
		"\"\u2028\U000e0041\"": `"\u2028\udb40\udc41"`,
		"\"❤\ufe0f\u0301\"":    "\"❤\ufe0f\u0301\"",
		"\"\u0301\ufe0f\"":     "\"\u0301" + `\ufe0f"`, // the quote carries the mark, as JSON has it
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("JSON(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestJSONStaysTheSameDocument(t *testing.T) {
	in := []byte("{\"a\": \"x\u202ey\u009b\U000e0041\x7fä\",\n\t\"b\": 1}")
	got := JSON(in)
	want := "{\"a\": \"x\\u202ey\\u009b\\udb40\\udc41\\u007fä\",\n\t\"b\": 1}"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var a, b map[string]any
	if json.Unmarshal(in, &a) != nil || json.Unmarshal(got, &b) != nil || a["a"] != b["a"] {
		t.Errorf("%v became %v", a, b)
	}
}
