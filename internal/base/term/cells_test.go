package term

import "testing"

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 0, "…"}, {"", 0, ""},
		{"世界", 4, "世界"}, {"世界x", 4, "世…"}, {"世界", 3, "世…"},
		{"a👍🏽b", 4, "a👍🏽b"}, {"a👍🏽b", 3, "a…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		got := Fit(c.in, c.n)
		if got != c.want || c.n > 0 && Cells(got) > c.n {
			t.Errorf("%q to %d: %q of %d cells, want %q", c.in, c.n, got, Cells(got), c.want)
		}
	}
}
