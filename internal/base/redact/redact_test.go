package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const (
	key    = "sk-ant-api03-Zm9v_YmFy/quux+42=="
	phrase = `correct "horse" battery\staple é&<x>`
	pem    = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\nAwEHBG0wawIBAQQgevZzL1gdAFr88hb2\n-----END PRIVATE KEY-----\n"
)

var both = New([]Secret{{"model.anthropic.work", key}, {"mcp.custom.x.PHRASE", phrase}, {"mcp.custom.x.KEY", pem}, {"mcp.custom.x.PIN", "1234567"}})

func TestForms(t *testing.T) {
	const a, b = "[secret model.anthropic.work]", "[secret mcp.custom.x.PHRASE]"
	quoted, _ := json.Marshal(phrase)
	for in, want := range map[string]string{
		"":                              "",
		"nothing to see":                "nothing to see",
		key:                             a,
		"a " + key + key + " b":         "a " + a + a + " b",
		"x" + phrase + "y":              "x" + b + "y",
		key[1:]:                         key[1:],
		key[:len(key)/2-1]:              key[:len(key)/2-1],
		key[:20] + "...":                a + "...", // cut off
		"1234567":                       "1234567",
		url.QueryEscape(key):            a,
		"k=" + url.QueryEscape(phrase):  "k=" + b,
		"/" + url.PathEscape(phrase):    "/" + b,
		strings.ToLower("%2F") + key:    "%2f" + a,
		"sk-ant%2dapi03" + key[12:]:     a,
		"sk%2dant%2Dapi03" + key[12:]:   a,
		string(quoted):                  `"` + b + `"`,
		`\u0073k\u002dant` + key[6:]:    a,
		`"` + quotedHTML(phrase) + `"`:  `"` + b + `"`,
		"-----BEGIN PRIVATE KEY-----\n": "-----BEGIN PRIVATE KEY-----\n",
		"12\t" + strings.Split(pem, "\n")[1] + "\n": "12\t[secret mcp.custom.x.KEY]\n",
		pem: "[secret mcp.custom.x.KEY]",
	} {
		if got := both.String(in); got != want {
			t.Errorf("%q\n is %q,\nwant %q", in, got, want)
		}
		if got := both.Has(in); got != (want != in) {
			t.Errorf("%q: has %v", in, got)
		}
	}
}

func quotedHTML(s string) string { // as a strict encoder writes it
	var b strings.Builder
	for _, r := range s {
		if r < '0' || r > 'z' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else if r == '\\' {
			b.WriteString(`\\`)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// In base64 a secret can lie in three ways, and lines end anywhere.
func TestBase64(t *testing.T) {
	for _, value := range []string{key, phrase, "12345678", strings.Repeat("0123456789abcdef", 20)} {
		r := New([]Secret{{"s", value}})
		for before := range 7 {
			for after := range 4 {
				text := strings.Repeat("<", before) + value + strings.Repeat(">", after)
				for name, e := range map[string]*base64.Encoding{
					"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
				} {
					coded := e.EncodeToString([]byte(text))
					for _, ending := range []string{"", "\n", "\r\n", `\n`, `\r\n`, "\n    ", "\n    12\t"} {
						in := coded
						if ending != "" {
							in = wrap(coded, 5, ending)
						}
						out := r.String("data: " + in + ending)
						if !strings.Contains(out, "[secret s]") || !strings.HasPrefix(out, "data: ") {
							t.Fatalf("%s, %d before, %d after, lines end with %q: %q is %q", name, before, after, ending, in, out)
						}
						// What stays has at most two characters of it at each end.
						left := strings.NewReplacer("    12\t", "", "    ", "", "[secret s]", "", "data: ", "", "\r", "", "\n", "", `\r`, "", `\n`, "", "=", "").Replace(out)
						if most := (before+after)*8/6 + 4; len(left) > most {
							t.Fatalf("%s, %d before, %d after: %q is %q", name, before, after, in, out)
						}
					}
				}
			}
		}
	}
}

func wrap(s string, n int, ending string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && i%n == 0 {
			b.WriteString(ending)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// What programs make of a secret.
func TestPrograms(t *testing.T) {
	long := "sk-ant-api03-" + strings.Repeat("aB3_-xYz", 12)
	r := New([]Secret{{"s", long}})
	for _, line := range []string{
		`printf %s "$K" | base64`, `printf 'x:%s' "$K" | base64`, `printf 'xy:%s\n' "$K" | base64 -w 40`, `printf %s "$K" | jq -Rr @uri`,
		`printf %s "$K" | jq -R .`, `printf '{"k":"%s"}' "$K" | jq -R .`, `printf %s "$K" | jq -Rr @base64`, `printf %s "$K" | jq -Rr '@sh'`,
	} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = []string{"K=" + long, "PATH=" + os.Getenv("PATH")}
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if out := r.String(string(b)); !strings.Contains(out, "[secret s]") || len(out) > 40 {
			t.Errorf("%s: %q", line, out)
		}
	}
}

func TestJSON(t *testing.T) {
	type doc struct {
		A string         `json:"a"`
		N json.Number    `json:"n"`
		M map[string]any `json:"m"`
	}
	wrapped := wrap(base64.StdEncoding.EncodeToString([]byte(key)), 20, "\n")
	raw, _ := json.Marshal(doc{A: "x " + key, N: "12345678901234567890.50", M: map[string]any{key: []any{phrase, 7, nil, wrapped}, "<b>": true}})
	want := `{"a":"x [secret model.anthropic.work]","n":12345678901234567890.50,"m":{"\u003cb\u003e":true,"[secret model.anthropic.work]":` +
		`["[secret mcp.custom.x.PHRASE]",7,null,"c2stYW50LWFwaTAzLVpt"]}}`
	got := string(both.JSON(raw))
	if i := strings.Index(got, `null,"`); i < 0 || !strings.HasPrefix(got[i:], `null,"[secret model.anthropic.work]`) || !json.Valid([]byte(got)) {
		t.Errorf("the base64 stays: %s", got)
	} else if got = got[:i] + `null,"c2stYW50LWFwaTAzLVpt"]}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, same := range []string{`{"a":"b\"c","d":[1,2.50,{"e":"\u003c"}]}`, `"x`, `"x\`, `{"a`, "", `"\"`, "not json \"at all\" \\"} {
		if got := string(both.JSON([]byte(same))); got != same {
			t.Errorf("%s becomes %s", same, got)
		}
	}
}

// Markers that look like secrets, and secrets that look like markers.
func TestOddSecrets(t *testing.T) {
	for _, c := range []struct {
		secrets  []Secret
		in, want string
	}{
		{[]Secret{{"abcdefgh", "abcdefgh"}}, "x abcdefgh", "x [secret]"},
		{[]Secret{{"a", "[secret]"}}, "[secret]", "[secret a]"},
		{[]Secret{{"a", "[secret a]"}}, "[secret a]", "[secret]"},
		{[]Secret{{"a", "abcdefgh"}, {"b", "efghijkl"}}, "abcdefghijkl.", "[secret a]."},
		{[]Secret{{"a", "abcdefgh"}, {"b", "abcdefghijkl"}}, "abcdefghijkl.", "[secret b]."},
		{[]Secret{{"a", "abcdefgh"}, {"b", "12345678[sec"}}, "12345678abcdefgh", "[secret b]ret a]"},
		{[]Secret{{"a", "aaaaaaaa"}}, strings.Repeat("a", 20), "[secret a]"},
		{[]Secret{{"a", "éééééééé"}, {"b", "ééééééé"}}, "ééééééé éééééééé", "ééééééé [secret a]"},
	} {
		if got := New(c.secrets).String(c.in); got != c.want {
			t.Errorf("%v: %q is %q, want %q", c.secrets, c.in, got, c.want)
		}
	}
	if r := New([]Secret{{"a", "short"}, {"b", ""}}); r != nil {
		t.Error("there is nothing to look for")
	}
	var none *Redactor
	b := []byte("x")
	if none.String("x") != "x" || &none.Bytes(b)[0] != &b[0] || &none.JSON(b)[0] != &b[0] || none.Has("x") {
		t.Error("a redactor without secrets changes something")
	}
	if got := both.Bytes(b); &got[0] != &b[0] {
		t.Error("a text without secrets is copied")
	}
}

// A stream is the text, wherever its pieces end.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	coded := base64.StdEncoding.EncodeToString([]byte("user:" + key))
	for range 40 {
		var text strings.Builder
		for text.Len() < 300_000 {
			text.WriteString([]string{"some words ", "\n", key, phrase, coded, url.QueryEscape(key), "sk-ant-", "%", `\`}[r.IntN(9)])
			text.WriteString(strings.Repeat("-", r.IntN(3000)))
		}
		var out bytes.Buffer
		w := both.To(&out)
		for rest := text.String(); rest != ""; {
			n := min(1+r.IntN(9000), len(rest))
			w.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if out.Len() == 0 {
			t.Fatal("nothing comes before the end")
		}
		w.Close()
		if got, want := out.String(), both.String(text.String()); got != want {
			t.Fatalf("the stream has %d bytes, the text %d", len(got), len(want))
		}
	}
	// Secrets that never end keep no more than a little in memory.
	chain := New([]Secret{{"a", "aaaaaaaa"}})
	var out bytes.Buffer
	w := chain.To(&out)
	for range 100 {
		w.Write(bytes.Repeat([]byte("a"), 100_000))
		if len(w.buf) > longestChain+batch+100_000 {
			t.Fatalf("%d bytes are held back", len(w.buf))
		}
	}
	if w.Close(); strings.Contains(out.String(), "aaaaaaaa") {
		t.Error("it stays")
	}
}

// Fifty secrets in 16 MB, in all their forms, take less than looking for each as it
// is.
func TestSpeed(t *testing.T) {
	var secrets []Secret
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 50 {
		b := make([]byte, 30+r.IntN(60))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		secrets = append(secrets, Secret{fmt.Sprint("s", i), "sk-" + base64.RawURLEncoding.EncodeToString(b)})
	}
	began := time.Now()
	red := New(secrets)
	made := time.Since(began)
	text := source(16<<20, r)
	best := time.Hour
	for range 5 {
		began = time.Now()
		if red.String(text) != text {
			t.Fatal("it is changed")
		}
		best = min(best, time.Since(began))
	}
	began = time.Now()
	for _, s := range secrets {
		if strings.Contains(text, s.Value) {
			t.Fatal("it is there")
		}
	}
	each := time.Since(began)
	t.Logf("made in %v; %d MB in %v; looking for each value alone takes %v", made, len(text)>>20, best, each)
	if best > each {
		t.Errorf("%v for one look, %v for fifty plain ones", best, each)
	}
}

// source is a text like code and logs.
func source(n int, r *rand.Rand) string {
	words := strings.Fields("the func return err := range if nil { } // is token key string int sk- secret 0x1f 200 GET /index.html")
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(" \n\t     "[r.IntN(8)])
	}
	return b.String()[:n]
}

func FuzzRedact(f *testing.F) {
	f.Add("abcdefgh", "x abcdefgh y", "12345678")
	f.Add(key, "a "+url.QueryEscape(key)+" "+base64.StdEncoding.EncodeToString([]byte(key)), phrase)
	f.Add("a\\u00e9\"bcd", `"a\\u00e9\"bcd"`, "%2f%2f%2f")
	f.Add("[secret]", "[secret [secret]]", "secret a")
	f.Add("a b c d e f", "a+b+c+d%20e+f", "\r\n\r\n\r\n\r\n")
	f.Fuzz(func(t *testing.T, one, text, two string) {
		r := New([]Secret{{"a", one}, {"b", two}})
		out := r.String(text)
		for _, s := range []string{one, two} {
			if utf8.RuneCountInString(s) < MinChars {
				continue
			}
			if strings.Contains(out, s) && !strings.Contains("[secret]", s) {
				t.Fatalf("%q has %q", out, s)
			}
			for _, form := range []string{url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte("z" + s))} {
				if got := r.String("(" + form + ")"); got == "("+form+")" {
					t.Fatalf("%q stays", form)
				}
			}
			if quoted, err := json.Marshal(s); err == nil && utf8.ValidString(s) {
				if got := r.JSON(quoted); bytes.Equal(got, quoted) && string(got) != `"[secret]"` || !json.Valid(got) {
					t.Fatalf("%s becomes %s", quoted, got)
				}
			}
		}
		if (r == nil || !r.Has(text)) && out != text {
			t.Fatalf("%q is changed to %q", text, out)
		}
		if raw := r.JSON([]byte(text)); json.Valid([]byte(text)) && !json.Valid(raw) {
			t.Fatalf("%q becomes %q", text, raw)
		}
		var b bytes.Buffer
		w := r.To(&b)
		for i := range len(text) {
			w.Write([]byte(text[i : i+1]))
		}
		if w.Close(); b.String() != out {
			t.Fatalf("the stream is %q, the text %q", &b, out)
		}
	})
}
