// Command stint adds up a time sheet.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"example.org/stint/internal/report"
	"example.org/stint/internal/round"
	"example.org/stint/internal/sheet"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "stint:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("stint", flag.ContinueOnError)
	flags.SetOutput(stderr)
	step := flags.Duration("step", 15*time.Minute, "round every entry to a multiple of this")
	mode := flags.String("round", "nearest", "nearest, up or down")
	if err := flags.Parse(args); err != nil {
		return err
	}
	by, err := round.Mode(*mode)
	if err != nil {
		return err
	}
	in := stdin
	if name := flags.Arg(0); name != "" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	entries, err := sheet.Parse(in)
	if err != nil {
		return err
	}
	return report.Write(stdout, report.ByProject(entries, by, *step))
}
