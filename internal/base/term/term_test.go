package term

import "testing"

func TestColor(t *testing.T) {
	for _, c := range []struct {
		noColor, term  string
		outTTY, errTTY bool
		out, err       bool
	}{
		{"", "xterm", true, true, true, true},
		{"", "xterm", false, true, false, true},
		{"", "xterm", true, false, true, false},
		{"1", "xterm", true, true, false, false},
		{"", "dumb", true, true, false, false},
		{"", "", true, true, false, false},
	} {
		s := &IO{OutTTY: c.outTTY, ErrTTY: c.errTTY}
		s.look(c.noColor, c.term)
		if s.OutColor != c.out || s.ErrColor != c.err {
			t.Errorf("%+v: out %v, err %v", c, s.OutColor, s.ErrColor)
		}
	}
}
