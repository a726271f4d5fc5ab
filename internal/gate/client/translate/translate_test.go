package translate

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// short writes a rule on one line.
func short(r *policy.Rule) string {
	words := []string{string(r.Decision), r.Tool, r.Effect, r.Command, r.Path, r.URL, r.Reason}
	if r.Final {
		words = append(words, "final")
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// say puts the items into lines; what became a note is "note".
func say(t *testing.T, items []Item) string {
	t.Helper()
	var lines []string
	for _, it := range items {
		if (it.Note == "") != (len(it.Rules) > 0) || it.From == "" {
			t.Errorf("an item is %+v", it)
		}
		if it.Note != "" {
			lines = append(lines, "note")
		}
		for i := range it.Rules {
			lines = append(lines, short(&it.Rules[i]))
			if _, err := rulefile.Parse([]byte(TOML(&it.Rules[i])), "p.toml", policy.User); err != nil {
				t.Errorf("%s: %v\n%s", it.From, err, TOML(&it.Rules[i]))
			}
		}
	}
	return strings.Join(lines, "; ")
}

func TestClaude(t *testing.T) {
	for rule, want := range map[string]string{
		`Bash(git status:*)`:     "deny bash git status * final",
		`Bash(git status *)`:     "deny bash git status * final",
		`Bash(npm run build)`:    "deny bash npm run build final",
		`Bash(echo 'a b':*)`:     "deny bash echo 'a b' * final",
		`Bash(git * main)`:       "note",
		`Bash(git status*)`:      "note",
		`Bash(ls && rm:*)`:       "note",
		`Bash`:                   "deny bash final",
		`Bash(*)`:                "deny bash final",
		`Read(./.env)`:           "deny * read .env final; deny * read .env/** final",
		`Read(.env)`:             "deny * read **/.env final; deny * read **/.env/** final",
		`Read(secrets/**)`:       "deny * read secrets/** final",
		`Read(//etc/hosts)`:      "deny * read /etc/hosts final; deny * read /etc/hosts/** final",
		`Read(~/.zshrc)`:         "deny * read ~/.zshrc final; deny * read ~/.zshrc/** final",
		`Read(/src/**)`:          "note",
		`Edit(docs/)`:            "deny * write **/docs/** final",
		`Edit`:                   "deny * write final",
		`WebFetch(domain:a.org)`: "deny web_fetch https://a.org/** final; deny web_fetch http://a.org/** final",
		`WebSearch`:              "deny web_search final",
		`mcp__git`:               "deny mcp__git__* final",
		`mcp__git__*`:            "deny mcp__git__* final",
		`mcp__git__push`:         "deny mcp__git__push final",
		`mcp__*`:                 "note",
		`Task`:                   "deny spawn_agent final",
		`Workflow`:               "deny claude__Workflow final",
		`Agent(model:opus)`:      "note",
		`not a tool`:             "note",
		`Bash(ls`:                "note",
	} {
		items, err := Claude([]byte(`{"permissions":{"deny":["` + rule + `"]}}`))
		if got := say(t, items); err != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s, %v", rule, got, want, err)
		}
	}
	items, err := Claude([]byte(`{"permissions":{"allow":["Read(docs/**)"],"ask":["Bash(git push:*)"],"defaultMode":"acceptEdits","additionalDirectories":["/x"]}}`))
	if got := say(t, items); err != nil || got != "ask bash git push *; allow * read docs/**; note; note" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Claude([]byte(`// no`)); err == nil {
		t.Error("no JSON was read")
	}
}

func TestCodex(t *testing.T) {
	for text, want := range map[string]string{
		`prefix_rule(pattern=["git","status"], decision="allow")`:                                                          "allow bash git status *",
		`prefix_rule(pattern = ["git", ["push", "fetch"]], decision = "prompt", match = [["git","push"]])`:                 "ask bash git push *; ask bash git fetch *",
		"# a comment\nprefix_rule(\n  pattern = ['rm'],\n  decision = 'forbidden',\n  justification = \"use trash\",\n)\n": "deny bash rm * use trash final",
		`prefix_rule(pattern=["echo","a b"])`:                                                                              "allow bash echo 'a b' *",
		`prefix_rule(pattern=["say","\"hi\""])`:                                                                            `allow bash say '"hi"' *`,
		`prefix_rule(pattern=["x","*"])`:                                                                                   "note",
		`prefix_rule(pattern=[], decision="allow")`:                                                                        "note",
		`prefix_rule(pattern=["x"], decision="maybe")`:                                                                     "note",
		`prefix_rule(pattern=["x" + y])`:                                                                                   "note",
		`prefix_rule(["x"])`:                                                                                               "note",
		`prefix_rule(pattern=["x"`:                                                                                         "note",
		"x = 1\nprefix_rule(pattern=[\"y\"])":                                                                              "note; allow bash y *",
		"host_executable(name=\"git\")":                                                                                    "note",
		"":                                                                                                                 "",
	} {
		items, err := Codex([]byte(text))
		if got := say(t, items); err != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s, %v", text, got, want, err)
		}
	}
}

func TestGemini(t *testing.T) {
	for text, want := range map[string]string{
		"toolName = \"run_shell_command\"\ncommandPrefix = \"git status\"\ndecision = \"allow\"\npriority = 100": "allow bash git status *",
		"toolName = \"run_shell_command\"\ncommandPrefix = [\"rm\", \"mv\"]\ndecision = \"deny\"":                "deny bash rm * final; deny bash mv * final",
		"toolName = [\"write_file\", \"replace\"]\ndecision = \"ask_user\"":                                      "ask write_file; ask edit_file",
		"mcpName = \"git\"\ndecision = \"deny\"\ndenyMessage = \"no\"":                                           "deny mcp__git__* no final",
		"mcpName = \"git\"\ntoolName = \"push\"\ndecision = \"allow\"":                                           "allow mcp__git__push",
		"toolName = \"save_memory\"\ndecision = \"allow\"":                                                       "allow gemini__save_memory",
		"toolName = \"*\"\ndecision = \"deny\"":                                                                  "deny * final",
		"toolName = \"mcp_git_push\"\ndecision = \"allow\"":                                                      "note",
		"toolName = \"run_shell_command\"\ncommandRegex = \"git .*\"\ndecision = \"allow\"":                      "note",
		"toolName = \"glob\"\nmodes = [\"plan\"]\ndecision = \"allow\"":                                          "note",
		"toolName = \"glob\"\ndecision = \"yes\"":                                                                "note",
		"decision = \"allow\"": "note",
	} {
		items, err := Gemini([]byte("[[rule]]\n" + text + "\n"))
		if got := say(t, items); err != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s, %v", text, got, want, err)
		}
	}
}

func FuzzCodex(f *testing.F) {
	f.Add(`prefix_rule(pattern=["git",["a",'b']], decision="allow") # x`)
	f.Add("x\nprefix_rule(")
	f.Fuzz(func(t *testing.T, text string) {
		items, err := Codex([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			for i := range it.Rules {
				if _, err := rulefile.Parse([]byte(TOML(&it.Rules[i])), "p", policy.User); err != nil {
					t.Errorf("%q: %v\n%s", text, err, TOML(&it.Rules[i]))
				}
			}
		}
	})
}

func FuzzClaude(f *testing.F) {
	f.Add("Bash(git status:*)")
	f.Add("Read(./.env)")
	f.Fuzz(func(t *testing.T, rule string) {
		c, err := client.Of("claude")
		if err != nil {
			t.Fatal(err)
		}
		var l list
		l.claude(c, rule, wire.Deny)
		for _, it := range l {
			for i := range it.Rules {
				if _, err := rulefile.Parse([]byte(TOML(&it.Rules[i])), "p", policy.User); err != nil {
					t.Errorf("%q: %v\n%s", rule, err, TOML(&it.Rules[i]))
				}
			}
		}
	})
}
