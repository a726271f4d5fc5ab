package main

import (
	"io"
	"strings"
	"testing"
)

func TestExample(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"../../example/week.txt"}, strings.NewReader(""), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	want := "docs      0:45   1 entry\n" +
		"parser    3:30   3 entries\n" +
		"support   1:00   2 entries\n" +
		"total     5:15\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestStepAndMode(t *testing.T) {
	sheet := "2025-03-31\nparser 1h10m\n"
	for flags, want := range map[string]string{
		"-step=1h -round=up":   "2:00",
		"-step=1h -round=down": "1:00",
		"-step=0":              "1:10",
	} {
		var out strings.Builder
		if err := run(strings.Fields(flags), strings.NewReader(sheet), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "total    "+want) {
			t.Errorf("%s: got\n%swant a total of %s", flags, out.String(), want)
		}
	}
}

func TestBadMode(t *testing.T) {
	err := run([]string{"-round=sideways"}, strings.NewReader(""), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "sideways") {
		t.Errorf("error is %v; want one that names the mode", err)
	}
}
