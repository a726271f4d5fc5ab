package revise

import (
	"encoding/json"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

func bash(input string) *wire.Approval {
	return &wire.Approval{ID: "7k2q", Tool: "bash", Input: json.RawMessage(input)}
}

func TestRevise(t *testing.T) {
	file := &wire.Approval{ID: "7k3w", Tool: "write_file", Input: json.RawMessage(`{"path":"/a","content":"x"}`)}
	for _, c := range []struct {
		a         *wire.Approval
		text, ext string
		left      string
		want      string // "" for the same
		bad       bool
	}{
		{bash(`{"command":"ls"}`), "ls\n", ".sh", "ls\n", "", false},
		{bash(`{"command":"ls"}`), "ls\n", ".sh", "ls", "", false},
		{bash(`{"command":"ls\n"}`), "ls\n\n", ".sh", "ls\n\n", "", false},
		{bash(`{"command":"ls"}`), "ls\n", ".sh", "ls -l\npwd\n", `{"command":"ls -l\npwd"}`, false},
		{bash(`{"timeout_ms":9,"command":"ls"}`), "ls\n", ".sh", "pwd\n", `{"command":"pwd","timeout_ms":9}`, false},
		{bash(`{"command":"ls"}`), "ls\n", ".sh", " \n", "", true},
		{bash(`{"command":7}`), "{\n  \"command\": 7\n}\n", ".json", `{"command":8}`, `{"command":8}`, false},
		{file, "{\n  \"path\": \"/a\",\n  \"content\": \"x\"\n}\n", ".json", `{"content":"x", "path":"/a"}`, "", false},
		{file, "{\n  \"path\": \"/a\",\n  \"content\": \"x\"\n}\n", ".json", `{"content":"y", "path":"/a"}`, `{"content":"y", "path":"/a"}`, false},
		{file, "{\n  \"path\": \"/a\",\n  \"content\": \"x\"\n}\n", ".json", `{"content":`, "", true},
		{file, "{\n  \"path\": \"/a\",\n  \"content\": \"x\"\n}\n", ".json", `[1]`, "", true},
		{file, "{\n  \"path\": \"/a\",\n  \"content\": \"x\"\n}\n", ".json", ``, "", true},
	} {
		text, ext, err := Text(c.a)
		if string(text) != c.text || ext != c.ext || err != nil {
			t.Errorf("%s is edited as %q %s, %v", c.a.Input, text, ext, err)
		}
		got, changed, err := Input(c.a, []byte(c.left))
		if (err != nil) != c.bad || !c.bad && (changed != (c.want != "") || changed && string(got) != c.want) {
			t.Errorf("%q becomes %s, changed %v, %v; want %s", c.left, got, changed, err, c.want)
		}
	}
}

// What is not touched comes back as it was, and what comes back is an object.
func FuzzRevise(f *testing.F) {
	f.Add("ls -l\n", "pwd")
	f.Add("", `{"command":"\u202e"}`)
	f.Fuzz(func(t *testing.T, command, left string) {
		input, err := wire.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Skip()
		}
		a := bash(string(input))
		text, _, err := Text(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, changed, err := Input(a, text); err != nil || changed {
			t.Fatalf("%q comes back changed %v, %v", command, changed, err)
		}
		got, _, err := Input(a, []byte(left))
		var object map[string]json.RawMessage
		if err == nil && (json.Unmarshal(got, &object) != nil || object == nil) {
			t.Fatalf("%q becomes %s", left, got)
		}
	})
}
