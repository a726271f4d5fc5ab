package redact

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// pieces tells a text in pieces of n bytes, each as soon as it is ready and hidden by
// itself, and returns what was told.
func pieces(r *Redactor, text string, n int) string {
	var told strings.Builder
	var buf []byte
	for len(text) > 0 {
		n := min(n, len(text))
		buf, text = append(buf, text[:n]...), text[n:]
		at := r.Ready(buf)
		told.Write(r.Bytes(buf[:at]))
		buf = append([]byte(nil), buf[at:]...)
	}
	told.Write(r.Bytes(buf))
	return told.String()
}

// However a stream is cut, what comes of it is what comes of the whole.
func TestReady(t *testing.T) {
	const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----"
	r := New([]Secret{{"a", key}, {"b", `quo"te\and spaces é🎉 here`}, {"pem", pem}, {"aa", "aaaaaaaaab"}})
	escaped := ""
	for _, c := range key {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	all := ""
	for _, c := range []byte(key) {
		all += fmt.Sprintf("%%%02x", c)
	}
	coded := base64.StdEncoding.EncodeToString([]byte("x:" + key + key))
	for _, form := range []string{
		key, key + key, url.QueryEscape(`quo"te\and spaces é🎉 here`), coded, escaped, all, pem, "aaaaaaaaaaaaaaaaaab",
		`"quo\"te\\and spaces \u00e9\ud83c\udf89 here"`, `quo"te\and spaces é🎉 here`,
		coded[:20] + "\n    " + coded[20:40] + "\r\n" + coded[40:], "1\t" + coded[:20] + "\n    12\t" + coded[20:], coded[:20] + `\n` + coded[20:],
	} {
		text := "it is " + form + ", 50% of\nall " + form + " 100%\n"
		want := r.String(text)
		if want == text {
			t.Fatalf("%q is not known", form)
		}
		for n := 1; n <= len(text); n++ {
			if got := pieces(r, text, n); got != want {
				t.Fatalf("in pieces of %d: %q, want %q", n, got, want)
			}
		}
	}
}

// What is no secret is not held back.
func TestReadyIsQuick(t *testing.T) {
	r := New([]Secret{{"a", key}})
	for text, want := range map[string]int{"": 0, "hello": 5, "a line\n": 7, "half of " + key[:9]: 8, "all " + key + " ": len(key) + 5, "50%": 2, `a\`: 1, `\u00e9`: 6} {
		if got := r.Ready([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if n := (*Redactor)(nil).Ready([]byte("50%")); n != 3 {
		t.Errorf("without secrets %d", n)
	}
}

func FuzzReady(f *testing.F) {
	f.Add("abcdefgh", "x abcdefgh y", "abcdabcdabcd", 1)
	f.Add(key, "a "+url.QueryEscape(key)+" "+base64.StdEncoding.EncodeToString([]byte(key)), phrase, 3)
	f.Add("a\\u00e9\"bcd", `"a\\u00e9\"bcd"`, "%2f%2f%2f", 2)
	f.Fuzz(func(t *testing.T, one, text, two string, n int) {
		r := New([]Secret{{"a", one}, {"b", two}})
		if r == nil {
			return
		}
		got := pieces(r, text, max(1, n))
		if r.Has(text) && r.String(text) != got && strings.Contains(got, one) && len(one) >= MinChars && !strings.Contains("[secret]", one) {
			t.Fatalf("%q is told as %q", text, got)
		}
	})
}
