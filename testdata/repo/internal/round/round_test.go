package round

import (
	"testing"
	"time"
)

const step = 15 * time.Minute

func TestRound(t *testing.T) {
	for _, tc := range []struct {
		in, down, nearest, up time.Duration
	}{
		{0, 0, 0, 0},
		{1, 0, 0, 15},
		{7, 0, 0, 15},
		{8, 0, 15, 15},
		{15, 15, 15, 15},
		{50, 45, 45, 60},
		{53, 45, 60, 60},
	} {
		d := tc.in * time.Minute
		for name, want := range map[string]time.Duration{"down": tc.down, "nearest": tc.nearest, "up": tc.up} {
			round, err := Mode(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := round(d, step); got != want*time.Minute {
				t.Errorf("%s(%v) = %v; want %v", name, d, got, want*time.Minute)
			}
		}
	}
}

func TestHalfGoesUp(t *testing.T) {
	if got := Nearest(step/2, step); got != step {
		t.Errorf("Nearest(%v) = %v; want %v", step/2, got, step)
	}
}

func TestNoStep(t *testing.T) {
	for name, round := range modes {
		if got := round(7*time.Minute, 0); got != 7*time.Minute {
			t.Errorf("%s without a step = %v; want 7m0s", name, got)
		}
	}
}

func TestUnknownMode(t *testing.T) {
	if _, err := Mode("sideways"); err == nil {
		t.Error("Mode(sideways) has no error")
	}
}
