package kxdmain_test

import (
	"strings"
	"testing"
)

// What is longer than the screen is paged by less, which ^C belongs to and ^Z stops;
// afterwards the terminal is as it was, and the exit status kx's own.
func TestScreenPages(t *testing.T) {
	u := newUser(t)
	var turns []string
	for range 12 {
		turns = append(turns, `{"say":"I look.","calls":[{"tool":"list_files","input":{}}]}`)
	}
	u.kx(0, "agent", "run", "x", "--script", u.script(append(turns, done)...), "--new-session", "r")
	s := u.screen()
	s.types("kx agent show r; echo \"[$?]\"")
	s.matches(`^:$`)
	s.key("C-c")
	s.key("C-c")
	s.shows("the end, by G", func(text string) bool {
		s.key("G") // less may throw away what is typed right behind a ^C
		return strings.HasSuffix(text, "(END)")
	})
	s.key("q")
	s.matches(`^\[0\]$`)

	s.anew("kx agent show r")
	s.matches(`^:$`)
	s.key("C-z")
	s.matches(`Stopped .*\n` + prompt + `$`)
	s.types("fg")
	s.matches(`^:$`)
	s.key("q")
	s.shows("a prompt", func(text string) bool { return strings.HasSuffix(text, prompt) })

	// Short output, a missing pager and a command that fails.
	s.anew("kx agent list; echo \"[$?]\"")
	s.matches(`^\[0\]$`)
	s.anew("PAGER=no-such-pager kx agent show r; echo \"[$?]\"")
	s.matches(`^completed \S+\n\[0\]$`)
	s.anew("kx --no-input agent show r; echo \"[$?]\"")
	s.matches(`^completed \S+\n\[0\]$`)
	s.anew("kx agent show none; echo \"[$?]\"")
	s.matches(`^hint: kx agent list\n\[8\]$`)
	s.anew("kx agent run --help; echo \"[$?]\"")
	s.matches(`^:$`)
	s.key("q")
	s.matches(`^\[0\]$`)
	s.anew("stty -a; echo over")
	if text := s.matches(`^over$`); !strings.Contains(text, " icanon") || !strings.Contains(text, " echo ") {
		t.Errorf("the terminal is left like this:\n%s", text)
	}
}
