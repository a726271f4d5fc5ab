package speech

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/redact"
)

// Where a piece ends.
func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ab": "ab", "a b ": "a b ", "ab\xe4\xb8": "ab", "世界": "世", "世界 ": "世界 ", "กำ": "ก", "สวัส": "สวั", "สวั": "ส",
		"e\u0301": "", "ae\u0301\u0302": "a", "☀": "", "x ☀\ufe0f": "x ", "\xff\xfe": "\xff\xfe",
		"x" + strings.Repeat("\u0301", 50): "x" + strings.Repeat("\u0301", 50), // nobody writes so
	} {
		if got := text[:whole([]byte(text))]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No piece has a part of a secret that the next one goes on with; where it can't be
// known what is secret, nothing is told.
func TestSpeechOfSecrets(t *testing.T) {
	const value = "sk-0123456789abcdef"
	known := redact.New([]redact.Secret{{Name: "model.a.b", Value: value}})
	var got []string
	s := New(func(text string, _ bool) error { got = append(got, text); return nil }, func() (*redact.Redactor, error) { return known, nil })
	said := "The key is " + value + ", as is c2stMDEyMzQ1Njc4OWFiY2RlZg==. So much"
	for i := range said {
		s.last = time.Time{} // as if time had passed
		if err := s.Said(said[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(said); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(got, ""); all != said || len(got) < 20 {
		t.Errorf("%q", got)
	}
	for i := range got {
		got[i] = known.String(got[i])
	}
	if all := strings.Join(got, ""); all != known.String(said) {
		t.Errorf("hidden by themselves they are %q", all)
	}

	got, s.buf, s.last, s.secrets = nil, nil, time.Time{}, func() (*redact.Redactor, error) { return nil, errors.New("open to others") }
	if err := s.Said("words"); err == nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// Characters are not torn, and what is none is replaced.
func TestSpeechOfBytes(t *testing.T) {
	var got []string
	s := New(func(text string, more bool) error { got = append(got, fmt.Sprintf("%q %v", text, more)); return nil }, nil)
	s.Said("a\xe6")
	s.last = time.Time{}
	s.Said("\xbc\xa2\xffb")
	s.last = time.Time{}
	s.Said("\xf0")
	if err := s.End("a漢\xffb\xf0"); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(got, ", "); all != "\"a\" true, \"漢\ufffdb\" true, \"\ufffd\" false" {
		t.Error(all)
	}
}
