// Package pattern compares the conditions of a rule with what a call does: the
// words of a command, a path in both of its forms, an address. An allow has to
// match for certain; a deny or ask matches wherever it can't be ruled out.
package pattern

// Match is how far a condition holds.
type Match int

const (
	No      Match = iota
	Maybe         // it can't be proven that it does not
	OneForm       // a path matches as written or as resolved, not both
	Fully
)
