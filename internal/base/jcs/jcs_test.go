package jcs

import (
	"bytes"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"b":1,"a":[true,null,"x"]}`, `{"a":[true,null,"x"],"b":1}`},
		{`{ "a" : 1.0, "b": 1e2, "c": -0, "d": 0.000001, "e": 1e21 }`, `{"a":1,"b":100,"c":0,"d":0.000001,"e":1e21}`},
		{`{"n":9007199254740993,"m":9007199254740992}`, `{"m":9007199254740992,"n":9007199254740993}`},
		{`"<\u2028\u20ac\/\u0007\\u2028>"`, "\"<\u2028€/\\u0007\\\\u2028>\""},
		{`{"\ud83d\ude00":1,"\ufb33":2}`, "{\"\U0001f600\":1,\"\ufb33\":2}"},
		{`{"a":1,"a":2}`, `{"a":2}`},
	} {
		got, err := Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s (%v), want %s", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `{`, `1 2`, `1e999`} {
		if got, err := Canonical([]byte(bad)); err == nil {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x"],"b":null}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Canonical(in)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q: %q then %q (%v)", in, once, twice, err)
		}
	})
}
