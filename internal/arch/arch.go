// Package arch is the test that holds the house: which package may import
// which, how large one grows, what the small binary must never link, and in
// which places the process itself is touched. It has no code of its own.
package arch
