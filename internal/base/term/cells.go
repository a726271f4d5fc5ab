package term

import "github.com/clipperhouse/displaywidth"

// Cells is how many columns of a terminal s takes: a wide character takes two.
func Cells(s string) int { return displaywidth.String(s) }

// Fit cuts s to n columns, with … where something is left out.
func Fit(s string, n int) string {
	if Cells(s) <= n {
		return s
	}
	return displaywidth.TruncateString(s, max(n, 0), "…")
}
