package main

import (
	"fmt"
	"strings"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/cedar-policy/cedar-go"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// tool is the name that the i-th rule allows.
func tool(i int) string { return fmt.Sprintf("mcp__server%d__tool", i) }

// must ends the benchmark where an engine answers what it should not: the time
// of a wrong answer says nothing.
func must(ok bool, err error) {
	if err != nil || !ok {
		panic(fmt.Sprintf("the answer is wrong: %v", err))
	}
}

type kx struct{}

// set compiles rules as policy.toml has them.
func set(text string) *policy.Set {
	f, err := rulefile.Parse([]byte(text), "policy.toml", policy.User)
	must(true, err)
	s, err := policy.Compile(f.Rules)
	must(true, err)
	return s
}

func byName(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[rule]]\ntool = %q\ndecision = \"allow\"\n", tool(i))
	}
	return b.String()
}

// mixed are half rules on commands, half on paths. The one that decides stands
// in the middle, here and at the peers.
func mixed(n int) string {
	var b strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&b, "[[rule]]\ntool = \"bash\"\ncommand = \"prog%d run *\"\ndecision = \"allow\"\n", i)
		fmt.Fprintf(&b, "[[rule]]\neffect = \"write\"\npath = \"dir%d/**\"\ndecision = \"deny\"\n", i)
	}
	return b.String()
}

func (kx) decide(n int) func() {
	s, name := set(byName(n)), tool(n/2)
	return func() { must(s.Decide(name, mode.Default) == wire.Allow, nil) }
}

func call(n int, name, input string, want wire.Verdict) func() {
	s, env := set(mixed(n)), &policy.Env{Workspace: "/ws", Cwd: "/ws", Home: "/home/u"}
	c := policy.Call{Tool: name, Input: []byte(input), Loaded: true}
	return func() { must(s.Explain(c, mode.Default, env).Decision == want, nil) }
}

func (kx) explain(n int) func() {
	return call(n, "write_file", fmt.Sprintf(`{"path":"dir%d/a.go","content":"x"}`, n/4), wire.Deny)
}

func (kx) bash(n int) func() {
	return call(n, "bash", `{"command":"prog7 run x | tee out.log"}`, wire.Ask)
}

func (kx) load(n int) func() {
	text := byName(n)
	return func() { set(text) }
}

// goMap is the least that a decision by name can take.
type goMap struct{}

func fill(n int) map[string]wire.Verdict {
	m := map[string]wire.Verdict{}
	for i := range n {
		m[tool(i)] = wire.Allow
	}
	return m
}

func (goMap) decide(n int) func() {
	m, name := fill(n), tool(n/2)
	return func() { must(m[name] == wire.Allow, nil) }
}
func (goMap) explain(int) func() { return nil }
func (goMap) bash(int) func()    { return nil }
func (goMap) load(n int) func()  { return func() { fill(n) } }

type casbinEngine struct{}

// enforcer makes an enforcer with deny-override and the given matcher.
func enforcer(matcher string, rules [][]string) *casbin.Enforcer {
	m, err := model.NewModelFromString(`
[request_definition]
r = what
[policy_definition]
p = what, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = ` + matcher)
	must(true, err)
	e, err := casbin.NewEnforcer(m)
	must(true, err)
	_, err = e.AddPolicies(rules)
	must(true, err)
	return e
}

const same = "r.what == p.what"

func allowed(n int) [][]string {
	rules := make([][]string, n)
	for i := range rules {
		rules[i] = []string{tool(i), "allow"}
	}
	return rules
}

func (casbinEngine) decide(n int) func() {
	e, name := enforcer(same, allowed(n)), tool(n/2)
	return func() { must(e.Enforce(name)) }
}

func (casbinEngine) explain(n int) func() {
	rules := make([][]string, n)
	for i := range rules {
		rules[i] = []string{fmt.Sprintf("dir%d/*", i), "deny"}
	}
	e, path := enforcer("keyMatch(r.what, p.what)", rules), fmt.Sprintf("dir%d/a.go", n/2)
	return func() {
		ok, _, err := e.EnforceEx(path)
		must(!ok, err)
	}
}
func (casbinEngine) bash(int) func() { return nil }
func (casbinEngine) load(n int) func() {
	rules := allowed(n)
	return func() { enforcer(same, rules) }
}

type cedarEngine struct{}

func parse(text string) *cedar.PolicySet {
	p, err := cedar.NewPolicySetFromBytes("policy.cedar", []byte(text))
	must(true, err)
	return p
}

func permits(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "permit (principal, action == Action::%q, resource);\n", tool(i))
	}
	return b.String()
}

func request(action, path string) cedar.Request {
	return cedar.Request{
		Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", cedar.String(action)),
		Resource: cedar.NewEntityUID("File", cedar.String(path)),
		Context:  cedar.NewRecord(cedar.RecordMap{"path": cedar.String(path)}),
	}
}

func (cedarEngine) decide(n int) func() {
	p, r := parse(permits(n)), request(tool(n/2), "")
	return func() {
		d, _ := cedar.Authorize(p, cedar.EntityMap{}, r)
		must(d == cedar.Allow, nil)
	}
}

func (cedarEngine) explain(n int) func() {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "forbid (principal, action, resource) when { context.path like \"dir%d/*\" };\n", i)
	}
	p, r := parse(b.String()), request("write_file", fmt.Sprintf("dir%d/a.go", n/2))
	return func() {
		d, why := cedar.Authorize(p, cedar.EntityMap{}, r)
		must(d == cedar.Deny && len(why.Reasons) == 1, nil)
	}
}
func (cedarEngine) bash(int) func() { return nil }
func (cedarEngine) load(n int) func() {
	text := permits(n)
	return func() { parse(text) }
}
