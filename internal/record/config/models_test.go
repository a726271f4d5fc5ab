package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config/provider"
)

const models = `[providers.anthropic]
kind = "anthropic"
key_env = "ANTHROPIC_API_KEY"
[providers.anthropic.accounts.work]
key_slot = "model.anthropic.work"
[providers.anthropic.models."claude-sonnet-5"]
context = 200000
max_output = 64000
price = { input = 3.0, output = 15, cache_read = 0.3 }
[providers.local]
kind = "chat"
base_url = "http://127.0.0.1:11434/v1/"
[providers.router]
kind = "chat"
base_url = "https://example.org/api/v1"
accounts = { a = { key_slot = "model.router.a" } }
[roles.default]
model = "anthropic/claude-sonnet-5"
account = "work"
fallback = ["cheap", "far"]
[roles.cheap]
model = "local/llama3:8b"
[roles.far]
model = "router/meta/llama-3"
`

func TestModels(t *testing.T) {
	c, err := Load(setup(t, models), "/w", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &c.Models
	a := m.Provider("anthropic")
	if len(m.Providers) != 3 || a.Kind != provider.Anthropic || a.BaseURL != "" || len(a.Accounts) != 2 ||
		*a.Accounts[0] != (provider.Account{Name: "default", Env: "ANTHROPIC_API_KEY"}) || *a.Account("work") != (provider.Account{Name: "work", Slot: "model.anthropic.work"}) {
		t.Errorf("anthropic %+v", a)
	}
	if s := a.Model("claude-sonnet-5"); s.Context != 200000 || s.MaxOutput != 64000 || *s.Price != (provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3}) {
		t.Errorf("claude-sonnet-5 %+v, %+v", s, s.Price)
	}
	l := m.Provider("local")
	if l.BaseURL != "http://127.0.0.1:11434/v1" || len(l.Accounts) != 1 || l.Accounts[0].Keyed() {
		t.Errorf("local %+v", l)
	}
	if r := m.Provider("router"); len(r.Accounts) != 1 || r.Account("default") != nil {
		t.Errorf("router %+v", r)
	}
	var known []string
	for _, k := range m.Known() {
		known = append(known, k.ID()+" "+strings.Join(k.Roles, ","))
	}
	if want := []string{"anthropic/claude-sonnet-5 default", "local/llama3:8b cheap", "router/meta/llama-3 far"}; !slices.Equal(known, want) {
		t.Errorf("known %q", known)
	}
	shown := ""
	for _, v := range c.Values {
		if strings.HasPrefix(v.Key, "roles.default.") || strings.HasSuffix(v.Key, "key_slot") {
			shown += fmt.Sprintf("%s=%v %s; ", v.Key, v.Value, v.Source[strings.LastIndexByte(v.Source, '/')+1:])
		}
	}
	if want := "providers.anthropic.accounts.work.key_slot=model.anthropic.work config.toml:5; providers.router.accounts.a.key_slot=model.router.a config.toml:16; " +
		"roles.default.model=anthropic/claude-sonnet-5 config.toml:18; roles.default.account=work config.toml:19; roles.default.fallback=[cheap far] config.toml:20; "; shown != want {
		t.Errorf("shown %s", shown)
	}
}

func TestModelErrors(t *testing.T) {
	const chat = "[providers.a]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n"
	for content, want := range map[string]string{
		"providers = 3\n":                                     "config.toml:1: providers: expected a table, [providers]",
		"[[providers]]\n":                                     "config.toml:1: providers: expected a table",
		"[[providers.a]]\nkind = \"chat\"\n":                  "config.toml:1: providers.a: expected a table",
		"[providers]\na = \"chat\"\n":                         "config.toml:2: providers.a: expected a table, [providers.a]",
		"[provider.a]\n":                                      `config.toml:1: unknown key "provider.a"; did you mean providers?`,
		"[providers.a]\nknd = \"chat\"\n":                     `config.toml:2: unknown key "providers.a.knd"; did you mean kind?`,
		chat + "[providers.a.acounts.b]\n":                    `config.toml:4: unknown key "providers.a.acounts.b"`,
		chat + "[providers.a.models.b]\nprice = { in = 1 }\n": `config.toml:5: unknown key "providers.a.models.b.price.in"; did you mean input?`,
		"[roles.x]\nmodle = \"a/b\"\n":                        `config.toml:2: unknown key "roles.x.modle"; did you mean model?`,
		"[providers.\"A b\"]\n":                               `config.toml:1: providers."A b": a name is of lower-case letters`,
		chat + "[providers.a.models.\"b c\"]\n":               `config.toml:4: providers.a.models."b c": the name of a model has no spaces`,
		chat + "[providers.a.models.\"b\\u202ec\"]\n":         "nothing that can't be seen",
		"[providers.a]\n":                                     "config.toml:1: providers.a has no kind: expected anthropic, openai, chat",
		"[providers.a]\nkind = \"claude\"\n":                  "config.toml:2: providers.a.kind: expected anthropic, openai, chat",
		"[providers.a]\nkind = \"chat\"\n":                    "config.toml:1: providers.a has no base_url",
		"[providers.a]\nkind = \"openai\"\n":                  `config.toml:1: providers.a needs a key: key_slot = "model.a.default", or key_env`,

		// A key has to travel unseen.
		"[providers.a]\nkind = \"chat\"\nbase_url = \"http://example.org/v1\"\n":            "config.toml:3: providers.a.base_url: a key must not travel in clear",
		"[providers.a]\nkind = \"chat\"\nbase_url = \"http://localhost.example.org\"\n":     "a key must not travel in clear",
		"[providers.a]\nkind = \"chat\"\nbase_url = \"https://u:hunter2@example.org\"\n":    "without a password",
		"[providers.a]\nkind = \"chat\"\nbase_url = \"https://example.org/?key=hunter2\"\n": "without a password, a query",
		"[providers.a]\nkind = \"chat\"\nbase_url = \"ftp://hunter2\"\n":                    "expected an http or https address",

		// It does not stand in the file, and what may be one is not repeated.
		chat + "key = \"sk-hunter2\"\n":                              "config.toml:4: providers.a.key: a key never stands in a file of settings; put it in a slot with kx secret set, and name it here: key_slot = \"model.a.default\"",
		chat + "api_key = \"sk-hunter2\"\n":                          "providers.a.api_key: a key never stands",
		chat + "[providers.a.accounts.work]\nkey = \"sk-hunter2\"\n": `key_slot = "model.a.work"`,
		chat + "token.value = \"sk-hunter2\"\n":                      `config.toml:4: unknown key "providers.a.token.value"`,
		chat + "key_env = \"sk-hunter2\"\n":                          "providers.a.key_env: expected the name of a variable in capitals",
		chat + "key_env = \"KX_OUTPUT\"\n":                           "the variables of kx hold no keys",
		chat + "key_slot = \"sk-hunter2\"\n":                         "providers.a.key_slot: expected the name of a slot",
		chat + "key_slot = \"mcp.oauth.hunter2\"\n":                  "expected the name of a slot, model.PROVIDER.ACCOUNT",
		chat + "key_slot = \"model.a.b\"\nkey_env = \"HUNTER2\"\n":   "config.toml:5: key_slot and key_env are two keys; give one",
		chat + "[providers.a.accounts.work]\n":                       `config.toml:4: account work has no key: expected key_slot = "model.a.work", or key_env`,
		chat + "[providers.a.accounts.default]\nkey_env = \"K\"\n":   "config.toml:4: the key of the default account stands in [providers.a] itself",

		chat + "[providers.a.models.b]\ncontext = 0\n":               "config.toml:5: providers.a.models.b.context: expected a number of tokens from 1 to",
		chat + "[providers.a.models.b]\ncontext = 1.5\n":             "expected a number of tokens",
		chat + "[providers.a.models.b]\nprice = 3\n":                 "config.toml:5: providers.a.models.b.price: expected a table",
		chat + "[providers.a.models.b]\nprice = {}\n":                "config.toml:5: the price of b has no input and output",
		chat + "[providers.a.models.b]\nprice = { input = 1 }\n":     "config.toml:5: the price of b has no output",
		chat + "[providers.a.models.b]\nprice = { input = -1 }\n":    "expected US dollars a million tokens",
		chat + "[providers.a.models.b]\nprice = { input = nan }\n":   "expected US dollars a million tokens",
		chat + "[providers.a.models.b]\nprice = { input = inf }\n":   "expected US dollars a million tokens",
		chat + "[providers.a.models.b]\nprice = { input = \"1\" }\n": "expected US dollars a million tokens",

		"[roles.x]\n":                                           "config.toml:1: roles.x has no model",
		"[roles.x]\nmodel = \"gpt\"\n":                          "config.toml:2: roles.x.model: expected PROVIDER/MODEL",
		"[roles.x]\nmodel = \"a/b\"\n":                          `config.toml:2: there is no provider "a"`,
		chat + "[roles.x]\nmodel = \"b/b\"\n":                   `config.toml:5: there is no provider "b"`,
		chat + "[roles.x]\nmodel = \"a/b\"\naccount = \"w\"\n":  `config.toml:6: there is no account of a "w"`,
		chat + "[roles.x]\nmodel = \"a/b\"\nfallback = \"x\"\n": "config.toml:6: roles.x.fallback: expected a list of roles",
		chat + "[roles.x]\nmodel = \"a/b\"\nfallback = [\"cheep\"]\n[roles.cheap]\nmodel = \"a/c\"\n":                                                             `config.toml:6: there is no role "cheep"; did you mean cheap?`,
		chat + "[roles.x]\nmodel = \"a/b\"\nfallback = [\"x\"]\n":                                                                                                 "config.toml:6: the fallbacks lead in a circle: x > x",
		chat + "[roles.x]\nmodel = \"a/b\"\nfallback = [\"y\"]\n[roles.y]\nmodel = \"a/c\"\nfallback = [\"z\"]\n[roles.z]\nmodel = \"a/c\"\nfallback = [\"y\"]\n": "config.toml:9: the fallbacks lead in a circle: y > z > y",
	} {
		_, err := Load(setup(t, content), "/w", nil)
		e := fail.As(err)
		if e == nil || e.Exit != fail.ExitUsage || !strings.Contains(e.Msg, want) || e.Hint == "" {
			t.Errorf("%s\n got %+v\nwant %s", content, e, want)
			continue
		}
		if strings.Contains(strings.ToLower(e.Msg+e.Hint), "hunter2") {
			t.Errorf("%s\nrepeats what may be a key: %s, %s", content, e.Msg, e.Hint)
		}
	}
}

// A diamond of fallbacks is no circle, however deep.
func TestDeepFallbacks(t *testing.T) {
	text := "[providers.a]\nkind = \"chat\"\nbase_url = \"http://[::1]:1\"\n"
	for i := range 60 {
		text += fmt.Sprintf("[roles.l%d]\nmodel = \"a/b\"\nfallback = [\"l%d\", \"r%d\"]\n[roles.r%d]\nmodel = \"a/b\"\nfallback = [\"l%d\", \"r%d\"]\n", i, i+1, i+1, i, i+1, i+1)
	}
	text += "[roles.l60]\nmodel = \"a/b\"\n[roles.r60]\nmodel = \"a/b\"\n"
	if _, err := Load(setup(t, text), "/w", nil); err != nil {
		t.Error(err)
	}
}

// A project chooses among the user's models, and nothing else.
func TestModelsOfAProject(t *testing.T) {
	d := setup(t, models)
	load := func(content string) (*Config, error) {
		return Load(d, "/w", map[string][]byte{ProjectConfig: []byte(content)})
	}
	c, err := load("[roles.default]\nmodel = \"local/llama3:8b\"\n[roles.review]\nmodel = \"anthropic/claude-sonnet-5\"\nfallback = [\"default\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Models.Role("default"); r.ID() != "local/llama3:8b" || r.Account != "" || c.Models.Source("roles", "default", "model") != "/w/.kx/config.toml:2" || c.Models.Source("roles", "default", "account") != "" {
		t.Errorf("%+v from %s", r, c.Models.Source("roles", "default", "model"))
	}
	for _, v := range c.Values {
		if strings.HasPrefix(v.Key, "roles.default.") && !strings.HasPrefix(v.Source, "/w/") {
			t.Errorf("%s is still from %s", v.Key, v.Source)
		}
	}
	for content, want := range map[string]string{
		"[providers.local]\nbase_url = \"http://127.0.0.1:2\"\n":                           "/w/.kx/config.toml:1: a project may not set providers.local",
		"providers.anthropic.models.\"claude-sonnet-5\".price = { input = 0, output = 0 }": "a project may not set providers.anthropic.models",
		"[providers.x]\nkey = \"hunter2\"\n":                                               "a project may not set providers.x:",
		"[roles.default]\nmodel = \"anthropic/claude-opus\"\n":                             "/w/.kx/config.toml:2: a project may only choose among the user's models, and anthropic/claude-opus is none of them",
		"[roles.default]\nmodel = \"nobody/x\"\n":                                          "/w/.kx/config.toml:2: there is no provider \"nobody\"",
		"[roles.default]\nmodel = \"local/llama3:8b\"\naccount = \"work\"\n":               "/w/.kx/config.toml:3: there is no account of local",
		"[roles.cheap]\nmodel = \"local/llama3:8b\"\nfallback = [\"default\"]\n":           "the fallbacks lead in a circle",
		"[roles.x]\nmodl = \"a\"\n":                                                        "/w/.kx/config.toml:2: unknown key",
	} {
		if _, err := load(content); fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
	}
}
