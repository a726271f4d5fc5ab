package plain

import (
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

func TestEdit(t *testing.T) {
	p := newPerson(t)
	id := p.park("bash", `{"command":"make a","cwd":"`+p.ws+`"}`, nil)
	p.start()
	p.types(prompt, "e")
	p.types("goes back: ", "cat ~/.ssh/id_rsa")
	p.sees("would be denied, whatever the rules say")
	p.sees("It would be denied: the input is as it was.")
	p.types(prompt, "e")
	p.types("goes back: ", "make c")
	p.types("(y)es or no? ", "n")
	p.types(prompt, "e")
	p.types("goes back: ", "make a")
	p.sees("The input is as it was.")
	p.types(prompt, "e")
	p.types("goes back: ", "make b")
	p.sees("command:\n  make b\n")
	p.types("(y)es or no? ", "y")
	p.sees("Request " + id + " is allowed once.")
	a := p.is(id, wire.ApprovalAllowed, "once", "")
	if !a.InputEdited || string(a.Input) != `{"command":"make b","cwd":"`+p.ws+`"}` {
		t.Errorf("%s", a.Input)
	}
	file := p.park("write_file", `{"path":"`+p.ws+`/a","content":"x"}`, nil)
	p.types(prompt, "e")
	p.types("in one line; an empty line goes back: ", `{"path":1}`)
	p.sees("Not done: write_file: ")
	p.types(prompt, "d")
	p.sees("Request " + file + " is denied.")
	close(p.typed)
	if p.park("bash", `{"command":"x"}`, nil); p.ends() != nil {
		t.Error("the end of the input is an error")
	}
}

// Nobody edits for nothing.
func TestEditOfAnother(t *testing.T) {
	p := newPerson(t)
	p.park("bash", `{"command":"make"}`, func(a *wire.Approval) { a.Caller = "claude" })
	p.start()
	p.types(prompt, "e")
	p.sees("Not done: claude makes this call itself")
	p.types(prompt, "q")
	if err := p.ends(); err != nil {
		t.Error(err)
	}
}
