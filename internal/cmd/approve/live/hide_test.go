package live

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// No screen shows a known secret, or a part of one where a line is cut or wrapped.
func TestScreensShowNoSecret(t *testing.T) {
	for w := 40; w < 64; w++ {
		asked := question("bbbb", 2)
		asked.Questions[0].Question, asked.Questions[0].Options[0].Label = "Is it "+hush, hush
		s := newStage(t, w, 24, bash("aaaa", "curl -H 'X-Key: "+hush+"' localhost"), asked)
		seen := func() {
			t.Helper()
			flat := strings.Join(strings.Fields(s.screen()), "")
			if strings.Contains(flat, hush[:6]) {
				t.Fatalf("%d columns:\n%s", w, s.screen())
			}
		}
		seen()
		s.refuse = fail.Usage("it is %s", hush).WithHint("kx call %s", hush)
		s.calm()
		s.press("a")
		seen()
		s.refuse = nil
		s.pass(repeat)
		s.press("a") // the last answers and the history
		seen()
		s.press("h")
		seen()
		s.press("h")
		s.pass(repeat)
		s.press("a")
		seen()
		s.press("1", "enter", "1", "enter")
		seen()
		s.calm()
		s.press("enter")
		s.shows("Nothing waits.")
		seen()
		if a := s.requests["aaaa"]; a.State != wire.ApprovalAllowed || !strings.Contains(string(a.Input), hush) {
			t.Fatalf("the request is %+v", a)
		}
	}
}
