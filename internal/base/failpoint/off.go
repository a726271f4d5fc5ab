//go:build !failpoint

// Package failpoint names the moments at which a process may die, so that a test
// can make it die there. The calls stand before and after each step that leaves
// something on disk; in an ordinary build they compile to nothing. Built with the
// tag failpoint, a process kills itself at the point that KX_FAILPOINT names, or,
// if it has no environment of its own, that a file names.
package failpoint

// Hit passes the point.
func Hit(string) {}

// Arm reads no file.
func Arm(string) {}
