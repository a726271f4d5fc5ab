//go:build failpoint

// Package failpoint kills this process at a point that a test has named.
package failpoint

import (
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
)

// variable names the point.
const variable = "KX_FAILPOINT="

// armed is set once, before anything runs side by side.
var armed, file string

// Arm takes the point from a file. Whoever removes it dies there, so that one does
// and the next one lives.
func Arm(path string) {
	if name, err := os.ReadFile(path); err == nil {
		armed, file = strings.TrimSpace(string(name)), path
	}
}

// Hit ends this process, as kill -9 does, if it is armed for the point.
func Hit(point string) {
	if armed != point && !named(point) {
		return
	}
	if file != "" && os.Remove(file) != nil {
		return
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	for { // a timer, or Go would take it for a deadlock
		time.Sleep(time.Hour)
	}
}

func named(point string) bool {
	for _, v := range paths.Environ() {
		if v == variable+point {
			return true
		}
	}
	return false
}
