package sheet

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// No sheet has a known secret: not where a text is cut, over the lines of a diff, in
// the files that are compared, or in the rules. The request itself stays as it is.
func TestSheetsHaveNoSecrets(t *testing.T) {
	const value, marker = "sk-0123456789abcdef\nabcdef-ghijklmnop", "[secret model.a.b]"
	h := newHouse(t)
	h.reader.app.IO.Hide(redact.New([]redact.Secret{{Name: "model.a.b", Value: value}}).Bytes)
	inJSON := strings.ReplaceAll(value, "\n", `\n`)
	h.write("a.txt", "one\n"+value+"\ntwo\n")
	h.write("same.txt", "one\n"+marker+"\n")
	long := strings.Repeat("x", maxBrief-10)
	for name, a := range map[string]*wire.Approval{
		"a command":          h.request("bash", `{"command":"echo '`+inJSON+`' | cat"}`),
		"a long command":     h.request("bash", `{"command":"echo `+long+inJSON+`"}`),
		"a longer command":   h.request("bash", `{"command":"echo `+strings.Repeat("x", maxWide-8)+inJSON+`"}`),
		"an edit":            h.request("edit_file", `{"path":"a.txt","old_string":"two","new_string":"`+inJSON+`"}`),
		"an edit of it":      h.request("edit_file", `{"path":"a.txt","old_string":"`+inJSON+`","new_string":"gone"}`),
		"an edit that fails": h.request("edit_file", `{"path":"a.txt","old_string":"`+inJSON+`x","new_string":"`+inJSON+`"}`),
		"a file":             h.request("write_file", `{"path":"b.txt","content":"k = `+inJSON+`"}`),
		"a file like it":     h.request("write_file", `{"path":"same.txt","content":"one\n`+inJSON+`\n"}`),
		"a tool":             h.request("mcp__a__b", `{"x":"`+inJSON+`","y":{"z":["`+inJSON+`"]}}`),
	} {
		before := string(a.Input)
		text := show(h.reader.Read(a))
		a.State, a.Note = wire.ApprovalDenied, value
		text += show(h.reader.Read(a)) + show(h.reader.Outcome(a)) + Brief(h.reader.Hidden(a))
		text = strings.ReplaceAll(text, "xxxxxxxx", "")
		if strings.Contains(text, "sk-0") || strings.Contains(text, "ghij") || !strings.Contains(text, marker) {
			t.Errorf("%s is\n%.3000s", name, text)
		}
		if string(a.Input) != before {
			t.Errorf("%s: the request was changed to %s", name, a.Input)
		}
		if like := "only how a secret stands in it changes"; strings.Contains(text, like) != (name == "a file like it") {
			t.Errorf("%s:\n%.3000s", name, text)
		}
	}
	q := &wire.Approval{ID: "q", Kind: approval.KindQuestion, State: wire.ApprovalAnswered,
		Questions: []wire.Question{{ID: "1", Question: value, Options: []wire.Option{{ID: "a", Label: "it is " + value}}}}, Answers: []wire.QuestionAnswer{{QuestionID: "1", FreeformAnswer: value}}}
	if text := show(h.reader.Read(q)) + show(h.reader.Outcome(q)) + Brief(h.reader.Hidden(q)); strings.Contains(text, "sk-0") || strings.Count(text, marker) != 7 {
		t.Errorf("%d times:\n%s", strings.Count(text, marker), text)
	}
}
