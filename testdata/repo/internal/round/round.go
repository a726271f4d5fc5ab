// Package round rounds spans of time to a step. Rounding goes by the size of a
// span: a negative one is rounded as the positive one of that size is, and
// keeps its sign.
package round

import "time"

// Func rounds d to a multiple of step. A step of 0 or less leaves d as it is.
type Func func(d, step time.Duration) time.Duration

// Down rounds to the next smaller size.
func Down(d, step time.Duration) time.Duration {
	if step <= 0 {
		return d
	}
	return d / step * step
}

// Up rounds to the next larger size.
func Up(d, step time.Duration) time.Duration {
	if step <= 0 {
		return d
	}
	return Down(d+sign(d)*(step-1), step)
}

// Nearest rounds to the nearer multiple, and a half to the larger size.
func Nearest(d, step time.Duration) time.Duration {
	if step <= 0 {
		return d
	}
	return Down(d+step/2, step)
}

func sign(d time.Duration) time.Duration {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}
