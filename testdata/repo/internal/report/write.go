package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"example.org/stint/internal/span"
)

// Write prints the lines and their total in columns.
func Write(w io.Writer, lines []Line) error {
	columns := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, line := range lines {
		noun := "entries"
		if line.Entries == 1 {
			noun = "entry"
		}
		fmt.Fprintf(columns, "%s\t%s\t%d %s\n", line.Project, span.Format(line.Time), line.Entries, noun)
	}
	fmt.Fprintf(columns, "total\t%s\n", span.Format(Total(lines)))
	return columns.Flush()
}
