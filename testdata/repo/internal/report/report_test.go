package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/stint/internal/round"
	"example.org/stint/internal/sheet"
)

const step = 15 * time.Minute

func TestByProject(t *testing.T) {
	entries := []sheet.Entry{
		{Project: "parser", Time: 50 * time.Minute},
		{Project: "docs", Time: 10 * time.Minute},
		{Project: "parser", Time: 20 * time.Minute},
	}
	got := ByProject(entries, round.Nearest, step)
	want := []Line{
		{"docs", 15 * time.Minute, 1},
		{"parser", time.Hour, 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := Total(got); got != 75*time.Minute {
		t.Errorf("the total is %v; want 1h15m0s", got)
	}
}

func TestCorrectionUndoesItsEntry(t *testing.T) {
	entries := []sheet.Entry{
		{Project: "parser", Time: 50 * time.Minute},
		{Project: "parser", Time: -50 * time.Minute, Note: "that was docs"},
	}
	if got := Total(ByProject(entries, round.Nearest, step)); got != 0 {
		t.Errorf("50m and its correction come to %v; want 0s", got)
	}
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	err := Write(&out, []Line{{"docs", 45 * time.Minute, 1}, {"parser", 2 * time.Hour, 3}})
	if err != nil {
		t.Fatal(err)
	}
	want := "docs     0:45   1 entry\n" +
		"parser   2:00   3 entries\n" +
		"total    2:45\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
