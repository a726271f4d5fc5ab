package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
)

// setup returns directories with the given config.toml ("" = none).
func setup(t *testing.T, content string) paths.Dirs {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := paths.Dirs{UID: os.Getuid(), Home: filepath.Join(root, "home"), Config: filepath.Join(root, "home/.config/kx"),
		State: filepath.Join(root, "home/.local/state/kx"), Runtime: filepath.Join(root, "run/kx")}
	if err := os.MkdirAll(d.Config, 0o755); err != nil {
		t.Fatal(err)
	}
	if content != "" {
		write(t, d, UserConfig, content)
	}
	return d
}

func write(t *testing.T, d paths.Dirs, name, content string) string {
	t.Helper()
	path := filepath.Join(d.Config, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o644)
	return path
}

func TestDefaults(t *testing.T) {
	c, err := Load(setup(t, ""), "/w", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Mode: "default", MaxMode: "bypassPermissions",
		Limits:  Limits{16777216, 16777216, 25165824, 180000, 16, 256, 67108864, 100663296, "network_enabled"},
		Sandbox: Sandbox{Writable: []string{}, Sockets: []string{}, Env: []string{}},
		Approve: Approve{Bell: true},
	}
	for _, v := range c.Values {
		if v.Source != "built-in" {
			t.Errorf("%s comes from %s", v.Key, v.Source)
		}
	}
	if len(c.Values) != len(settings) {
		t.Errorf("%d values", len(c.Values))
	}
	c.Values = nil
	want.Models = c.Models
	if len(c.Models.Providers)+len(c.Models.Roles) > 0 {
		t.Errorf("models %+v", c.Models)
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
}

func TestUserFile(t *testing.T) {
	d := setup(t, `# mine
mode = "accept-edits"
max_mode = "acceptEdits"
sandbox = { env = ["EDITOR", "GOFLAGS"], writable = ["~/go", "/opt/x/../cache"], sockets = ["/run/x.sock"] }
experimental.browser = true

[limits]
max_timeout_ms = 600_000
max_sandbox = "workspace_write"

[experimental]
`)
	// [experimental] after experimental.browser would be a second definition.
	write(t, d, UserConfig, strings.Replace(read(t, d), "\n[experimental]\n", "", 1))
	policy := write(t, d, UserPolicy, "[[rule]]\n")
	c, err := Load(d, "/w", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != "acceptEdits" || c.MaxMode != "acceptEdits" || c.Limits.MaxTimeoutMS != 600000 || c.Limits.MaxSandbox != "workspace_write" ||
		!c.Experimental.Browser || c.Experimental.RemoteMCP || c.Limits.MaxInputBytes != 16<<20 {
		t.Errorf("got %+v", c)
	}
	if fmt.Sprint(c.Sandbox) != fmt.Sprintf("{[%s/go /opt/cache] [/run/x.sock] [EDITOR GOFLAGS]}", d.Home) {
		t.Errorf("sandbox %v", c.Sandbox)
	}
	if !c.IsSet("limits.max_sandbox") || c.IsSet("limits.max_input_bytes") {
		t.Error("what is set is not told from what is built in")
	}
	if c.UserPolicy == nil || c.UserPolicy.Path != policy || string(c.UserPolicy.Data) != "[[rule]]\n" || c.ProjectPolicy != nil {
		t.Errorf("policy %+v %+v", c.UserPolicy, c.ProjectPolicy)
	}
	sources := map[string]string{}
	for _, v := range c.Values {
		sources[v.Key] = strings.TrimPrefix(v.Source, d.Config+"/")
	}
	for key, want := range map[string]string{"mode": "config.toml:2", "sandbox.env": "config.toml:4", "sandbox.writable": "config.toml:4",
		"experimental.browser": "config.toml:5", "limits.max_timeout_ms": "config.toml:8", "limits.max_input_bytes": "built-in"} {
		if sources[key] != want {
			t.Errorf("%s comes from %s, want %s", key, sources[key], want)
		}
	}
}

func read(t *testing.T, d paths.Dirs) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.Config, UserConfig))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUserFileErrors(t *testing.T) {
	for _, tc := range []struct{ name, content, want string }{
		{"broken", "mode = \"plan\"\nmax_mode = \n", "config.toml:2:12: "},
		{"twice", "mode = \"plan\"\nmode = \"plan\"\n", "config.toml:2:1: "},
		{"not UTF-8", "mode = \"\xff\"\n", "config.toml:1:"},
		{"unknown", "\nmoed = \"plan\"\n", `config.toml:2: unknown key "moed"; did you mean mode?`},
		{"unknown in a table", "[limits]\nmax_ouput_bytes = 1\n", `config.toml:2: unknown key "limits.max_ouput_bytes"; did you mean limits.max_output_bytes?`},
		{"without its table", "max_input_bytes = 1\n", `unknown key "max_input_bytes"; did you mean limits.max_input_bytes?`},
		{"unknown table", "[limits]\n[browse]\nx = 1\n", `config.toml:2: unknown key "browse"`},
		{"unknown list", "\n[[hoks]]\n", `config.toml:2: unknown key "hoks"; did you mean hooks?`},
		{"unknown inline", "limits = { max_input_bytes = 1,\n  maximum = 2 }\n", `unknown key "limits.maximum"`},
		{"quoted key", "\"limits.max_input_bytes\" = 1\n", `unknown key "\"limits.max_input_bytes\""`},
		{"table as value", "limits = 3\n", `config.toml:1: limits: expected a table, [limits]`},
		{"table as list", "[[limits]]\nmax_input_bytes = 1\n", `config.toml:1: limits: expected a table, [limits]`},
		{"value as table", "[mode]\n", `config.toml:1: mode: it is no table`},
		{"mode", "mode = \"auto\"\n", `mode: expected default, acceptEdits, bypassPermissions, plan, dontAsk, got "auto"`},
		{"mode is a number", "max_mode = 3\n", `max_mode: expected default, acceptEdits, bypassPermissions, plan, dontAsk, got 3`},
		{"zero", "[limits]\nmax_parallel_tools = 0\n", `config.toml:2: limits.max_parallel_tools: expected a whole number above 0, got 0`},
		{"negative", "limits.max_timeout_ms = -1\n", "expected a whole number above 0, got -1"},
		{"huge", "limits.max_timeout_ms = 9223372036854775807\n", "expected a number up to 1099511627776"},
		{"float", "limits.max_timeout_ms = 1.5\n", "expected a whole number above 0, got 1.5"},
		{"profile", "limits.max_sandbox = \"network-enabled\"\n", `expected read_only, workspace_write, network_enabled, host, got "network-enabled"`},
		{"bool", "experimental.browser = \"yes\"\n", `expected true or false, got "yes"`},
		{"list", "sandbox.env = \"EDITOR\"\n", `expected a list of strings, got "EDITOR"`},
		{"list of numbers", "sandbox.writable = [1]\n", "expected a list of strings, got [1]"},
		{"relative", "sandbox.writable = [\"build\"]\n", `"build" is neither absolute nor below ~/`},
		{"user", "sandbox.writable = [\"~bob/x\"]\n", `"~bob/x" is neither absolute nor below ~/`},
		{"whole disk", "sandbox.writable = [\"/x/..\"]\n", "/ can't be writable: it is the whole file system"},
		{"home", "sandbox.writable = [\"~\"]\n", "can't be writable: it is your home"},
		{"state", "sandbox.writable = [\"~/.local\"]\n", "can't be writable: it holds kx's directory"},
		{"env name", "sandbox.env = [\"A=B\"]\n", `"A=B" is not the name of a variable`},
		{"env kx", "sandbox.env = [\"KX_MODE\"]\n", "KX_MODE is kx's own"},
		{"env secret", "sandbox.env = [\"EDITOR\", \"GITHUB_TOKEN\"]\n", "GITHUB_TOKEN looks like a secret"},
		{"long value", "mode = \"" + strings.Repeat("x", 500) + "\"\n", "xxx..."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load(setup(t, tc.content), "/w", nil)
			e := fail.As(err)
			if e == nil || e.Exit != fail.ExitUsage || !strings.Contains(e.Msg, tc.want) || e.Hint != "kx config validate" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"AWS_SECRET_ACCESS_KEY": true, "aws_session_token": true, "GITHUB_PAT": true, "DB_PWD": true, "NPM_AUTH": true, "APIKEY": true,
		"OPENAI_API_KEY": true, "MYSECRET": true, "SSH_AUTH_SOCK": true,
		"PWD": false, "OLDPWD": false, "EDITOR": false, "GOPATH": false, "PATH": false, "KEYBOARD": false, "MONKEY": false, "COMPASS": false,
	} {
		if looksSecret(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{UserConfig, UserPolicy} {
		for _, tc := range []struct {
			name, want string
			harm       func(t *testing.T, d *paths.Dirs, path string)
		}{
			{"group may write", "can be written by others (mode 0664)", func(t *testing.T, _ *paths.Dirs, p string) { os.Chmod(p, 0o664) }},
			{"all may write", "can be written by others", func(t *testing.T, _ *paths.Dirs, p string) { os.Chmod(p, 0o646) }},
			{"pipe", "not a regular file", func(t *testing.T, _ *paths.Dirs, p string) {
				os.Remove(p)
				if err := syscall.Mkfifo(p, 0o600); err != nil {
					t.Fatal(err)
				}
			}},
			{"folder", "not a regular file", func(t *testing.T, _ *paths.Dirs, p string) {
				os.Remove(p)
				os.Mkdir(p, 0o700)
			}},
			{"dangling symlink", "no such file", func(t *testing.T, _ *paths.Dirs, p string) {
				os.Remove(p)
				os.Symlink("nowhere", p)
			}},
			{"too large", "is larger than", func(t *testing.T, _ *paths.Dirs, p string) { os.Truncate(p, maxPolicy+1) }},
		} {
			d := setup(t, "")
			tc.harm(t, &d, write(t, d, name, "# nothing\n"))
			_, err := Load(d, "/w", nil)
			if e := fail.As(err); e == nil || e.Exit != fail.ExitUsage || !strings.Contains(e.Msg, tc.want) || e.Hint == "" {
				t.Errorf("%s, %s: %+v", name, tc.name, e)
			}
		}
		// A symlink to a file of one's own is how dotfiles are kept.
		d := setup(t, "")
		path := write(t, d, name, "# mine\n")
		os.Rename(path, path+".real")
		os.Symlink(path+".real", path)
		if _, err := Load(d, "/w", nil); err != nil {
			t.Errorf("%s as a symlink: %v", name, err)
		}
		if os.Getuid() == 0 { // only root can give a file away
			os.Chown(path+".real", 4242, -1)
			if _, err := Load(d, "/w", nil); fail.Exit(err) != fail.ExitUsage {
				t.Errorf("%s of another user: %v", name, err)
			}
			d.UID = 4242
			os.Chown(path+".real", 0, -1)
			if _, err := Load(d, "/w", nil); err != nil {
				t.Errorf("%s of root: %v", name, err)
			}
		}
	}
}

func TestProject(t *testing.T) {
	d := setup(t, "[limits]\nmax_timeout_ms = 600000\nmax_sandbox = \"workspace_write\"\n")
	load := func(content string) (*Config, error) {
		return Load(d, "/w", map[string][]byte{ProjectConfig: []byte(content), ProjectPolicy: []byte("# rules")})
	}
	c, err := load("mode = \"dont-ask\"\n[limits]\nmax_timeout_ms = 200000\nmax_sandbox = \"read_only\"\nmax_parallel_tools = 16\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.ProjectMode != "dontAsk" || c.Mode != "default" || c.Limits.MaxTimeoutMS != 200000 || c.Limits.MaxSandbox != "read_only" {
		t.Errorf("got %+v", c)
	}
	if c.ProjectPolicy == nil || c.ProjectPolicy.Path != "/w/.kx/policy.toml" || string(c.ProjectPolicy.Data) != "# rules" {
		t.Errorf("policy %+v", c.ProjectPolicy)
	}
	got := ""
	for _, v := range c.Values {
		if strings.HasPrefix(v.Source, "/w/") {
			got += fmt.Sprintf("%s=%v %s; ", v.Key, v.Value, v.Source)
		}
	}
	if got != "limits.max_timeout_ms=200000 /w/.kx/config.toml:3; limits.max_parallel_tools=16 /w/.kx/config.toml:5; "+
		"limits.max_sandbox=read_only /w/.kx/config.toml:4; project_mode=dontAsk /w/.kx/config.toml:1; " {
		t.Errorf("values %s", got)
	}
	for content, want := range map[string]string{
		"[limits]\nmax_timeout_ms = 600001\n":           "/w/.kx/config.toml:2: limits.max_timeout_ms: 600001 is above the user's 600000",
		"[limits]\nmax_sandbox = \"network_enabled\"\n": "limits.max_sandbox: network_enabled is above the user's workspace_write",
		"mode = \"default\"\n":                          "mode: a project may only set plan or dontAsk, not default",
		"mode = \"bypass-permissions\"\n":               "a project may only set plan or dontAsk, not bypassPermissions",
		"mode = \"x\"\n":                                `mode: expected default`,
		"max_mode = \"plan\"\n":                         "/w/.kx/config.toml:1: a project may not set max_mode: it may set [limits], [hooks], [roles] and mode",
		"\nsandbox.writable = []\n":                     "/w/.kx/config.toml:2: a project may not set sandbox.writable",
		"[sandbox]\n":                                   "a project may not set sandbox:",
		"[experimental]\nunsandboxed_bash = true\n":     "a project may not set experimental:",
		"[limits]\nmax_input_bytes = 0\n":               "expected a whole number above 0",
		"[mcp_servers.x]\n":                             `unknown key "mcp_servers.x"`,
		"x":                                             "/w/.kx/config.toml:1:",
	} {
		if _, err := load(content); fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("mode = \"plan\"\n[limits]\nmax_input_bytes = 5\n"))
	f.Add([]byte("sandbox = { env = [\"A\"], writable = [\"~/x\"] }\r\n"))
	f.Add([]byte("[[limits]]\n\"\" = 1\n'a.b'.c = {}\n"))
	f.Add([]byte("limits.max_sandbox = '''\nhost'''\n"))
	f.Add([]byte("mode.x = 1"))
	f.Add([]byte("[providers.a]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[providers.a.models.\"x/y:z\"]\ncontext = 5\nprice = { input = 1, output = 2.5 }\n[roles.r]\nmodel = \"a/x/y:z\"\nfallback = []\n"))
	f.Add([]byte("[roles.a]\nmodel = \"b/c\"\nfallback = [\"a\"]\n[providers.b]\nkind = \"openai\"\nkey_env = \"K\"\naccounts = { c = { key_slot = \"model.b.c\" } }"))
	d := paths.Dirs{Home: "/h", State: "/h/s", Config: "/h/c", Runtime: "/h/r"}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := builtIn()
		file := &File{Path: "f", Data: data}
		if err := c.apply(file, d); err != nil {
			if e := fail.As(err); e.Exit != fail.ExitUsage || !strings.HasPrefix(e.Msg, "f:") {
				t.Fatalf("%q: %+v", data, e)
			}
			return
		}
		for _, v := range c.Values {
			if v.Source == "built-in" {
				continue
			}
			var line int
			if n, _ := fmt.Sscanf(v.Source, "f:%d", &line); n != 1 || line < 1 || line > strings.Count(string(data), "\n")+1 {
				t.Fatalf("%q: %s is said to be at %s", data, v.Key, v.Source)
			}
			key := v.Key[strings.LastIndex(v.Key, ".")+1:]
			if !strings.Contains(strings.Split(string(data), "\n")[line-1], key) && !strings.Contains(string(data), "\\") {
				t.Fatalf("%q: %s is not in line %d", data, v.Key, line)
			}
		}
		// What the user may say is no widening when the project repeats it.
		p := *c
		if err := p.narrow(file); err == nil && p.Limits != c.Limits {
			t.Fatalf("%q: repeated, it changes %+v to %+v", data, c.Limits, p.Limits)
		}
		user := builtIn()
		if user.narrow(file) == nil {
			b := builtIn().Limits
			l := user.Limits
			if l.MaxInputBytes > b.MaxInputBytes || l.MaxTimeoutMS > b.MaxTimeoutMS || l.MaxSandbox == "host" || user.Mode != "default" || user.MaxMode != "bypassPermissions" {
				t.Fatalf("%q: a project widened to %+v", data, user)
			}
		}
	})
}
