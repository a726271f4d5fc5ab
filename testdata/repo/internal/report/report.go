// Package report adds up the entries of a sheet by project.
package report

import (
	"slices"
	"strings"
	"time"

	"example.org/stint/internal/round"
	"example.org/stint/internal/sheet"
)

// Line is what one project comes to.
type Line struct {
	Project string
	Time    time.Duration
	Entries int
}

// ByProject rounds every entry and adds them up, projects in order of name.
func ByProject(entries []sheet.Entry, by round.Func, step time.Duration) []Line {
	lines := map[string]Line{}
	for _, e := range entries {
		line := lines[e.Project]
		line.Project = e.Project
		line.Time += by(e.Time, step)
		line.Entries++
		lines[e.Project] = line
	}
	sorted := make([]Line, 0, len(lines))
	for _, line := range lines {
		sorted = append(sorted, line)
	}
	slices.SortFunc(sorted, func(a, b Line) int { return strings.Compare(a.Project, b.Project) })
	return sorted
}

// Total adds up the lines.
func Total(lines []Line) time.Duration {
	var sum time.Duration
	for _, line := range lines {
		sum += line.Time
	}
	return sum
}
