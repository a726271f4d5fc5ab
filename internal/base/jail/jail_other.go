//go:build !linux

package jail

import (
	"errors"
	"os/exec"
)

// Cell is a plan on its way to a process.
type Cell struct{}

var errNone = errors.New("this system has no walls for programs")

// Prepare fails: there is nothing to build walls with.
func Prepare(*exec.Cmd, *Plan) (*Cell, error) { return nil, errNone }

// Started has nothing to hand over.
func (c *Cell) Started(error) {}

// Report has nothing to tell.
func (c *Cell) Report() (Report, bool) { return Report{}, false }

// Err is the failure of a report.
func (r Report) Err() error { return errNone }

// LandlockABI is 0: only Linux has it.
func LandlockABI() int { return 0 }
