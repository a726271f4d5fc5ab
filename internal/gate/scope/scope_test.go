package scope

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSees(t *testing.T) {
	for _, tt := range []struct {
		file, tool string
		sees, uses bool
	}{
		{`{}`, "bash", true, true},
		{`{"capability":{"tool_allow":[]}}`, "bash", false, true},
		{`{"capability":{"tool_allow":["read_file"]}}`, "read_file", true, true},
		{`{"capability":{"tool_allow":["read_file"]}}`, "bash", false, true},
		{`{"capability":{"tool_allow":["*"],"tool_deny":["bash"]}}`, "bash", false, true},
		{`{"capability":{"mcp_server_allow":["github"]}}`, "mcp__github__pulls", true, true},
		{`{"capability":{"mcp_server_allow":["github"]}}`, "mcp__linear__get", false, true},
		{`{"capability":{"mcp_server_allow":["github"]}}`, "bash", true, true},
		{`{"capability":{"mcp_tool_deny":["mcp__github__push"]}}`, "mcp__github__push", false, true},
		{`{"capability":{"mcp_tool_allow":["mcp__github__pulls"]}}`, "mcp__github__pulls", true, true},
		{`{"capability":{"mcp_tool_allow":["mcp__github__pulls"]}}`, "mcp__github__push", false, true},
		{`{"capability":{"mcp_tool_allow":["mcp__github__pulls"]}}`, "bash", true, true},
		{`{"capability":{"mcp_tool_allow":["mcp__github__pulls"]}}`, "read_mcp_resource", false, true},
		{`{"capability":{"mcp_tool_deny":["list_mcp_resources"]}}`, "list_mcp_resources", false, true},
		{`{"capability":{"mcp_server_allow":["github"]}}`, "read_mcp_resource", true, true},
		{`{"capability":{"tool_deny":[" bash "]}}`, "bash", false, true},
		{`{"capability":{"tool_allow":["mcp__github__pulls"],"mcp_server_deny":["*"]}}`, "mcp__github__pulls", false, true},
		{`{"credential":{"mcp_server_deny":["github"]}}`, "mcp__github__pulls", true, false},
		{`{"credential":{"mcp_server_allow":["github"]}}`, "mcp__linear__get", true, false},
		{`{"credential":{"mcp_server_allow":[]}}`, "bash", true, true},
	} {
		s, err := Parse([]byte(tt.file), "f")
		if err != nil {
			t.Fatal(err)
		}
		if s.Sees(tt.tool) != tt.sees || s.Uses(tt.tool) != tt.uses {
			t.Errorf("%s: %s sees %v uses %v", tt.file, tt.tool, s.Sees(tt.tool), s.Uses(tt.tool))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{
		``, `[]`, `null`, `{"capability":null}`, `{"capability":{"tool_allow":null}}`, `{"capability":{"tool_deny":["bash",null]}}`,
		`{"capability":{"tool_deny":["mcp__*"]}}`, `{"capability":{"tool_deny":[" "]}}`, `{"credential":{"mcp_server_deny":["git*"]}}`, `{} null`, `{"capability":{"tool_alow":[]}}`, `{} {}`, `{"capability":{"tool_allow":"bash"}}`,
	} {
		if _, err := Parse([]byte(bad), "f"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// Narrowing two lists that share nothing leaves nothing, not everything.
func TestNarrow(t *testing.T) {
	allow := func(l List) Scope { return Scope{Capability: Capability{ToolAllow: l, ToolDeny: List{"d"}}} }
	for _, tt := range []struct{ a, b, want List }{
		{nil, nil, nil},
		{nil, List{"x"}, List{"x"}},
		{List{"x"}, nil, List{"x"}},
		{List{"x"}, List{"y"}, List{}},
		{List{"x", "y"}, List{"y", "z"}, List{"y"}},
		{List{"*"}, List{"y"}, List{"y"}},
		{List{}, List{"*"}, List{}},
	} {
		got := allow(tt.a).Narrow(allow(tt.b)).Capability
		if d := cmp.Diff(tt.want, got.ToolAllow); d != "" || len(got.ToolDeny) != 1 {
			t.Errorf("%v and %v: %s", tt.a, tt.b, d)
		}
	}
}

// A scope that went through a session's file is the same scope: any stays any,
// none stays none.
func TestStored(t *testing.T) {
	s := Scope{Capability: Capability{ToolAllow: List{}, MCPToolAllow: List{"a"}}}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Scope
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, got); d != "" {
		t.Error(d)
	}
}

// What two scopes permit together, each of them permits.
func FuzzNarrow(f *testing.F) {
	f.Add([]byte(`{"capability":{"tool_allow":["bash"]}}`), []byte(`{"capability":{"tool_deny":["*"]}}`), "bash")
	f.Add([]byte(`{"capability":{"mcp_server_allow":["a"],"mcp_tool_deny":["mcp__a__x"]}}`), []byte(`{"credential":{"mcp_server_allow":[]}}`), "mcp__a__x")
	f.Add([]byte(`{"capability":{"tool_allow":["*"]}}`), []byte(`{"capability":{"tool_allow":[]}}`), "read_mcp_resource")
	f.Fuzz(func(t *testing.T, one, two []byte, tool string) {
		a, err := Parse(one, "one")
		b, err2 := Parse(two, "two")
		if err != nil || err2 != nil {
			return
		}
		both := a.Narrow(b)
		if both.Sees(tool) != (a.Sees(tool) && b.Sees(tool)) || both.Uses(tool) != (a.Uses(tool) && b.Uses(tool)) {
			t.Errorf("%s and %s: %q", one, two, tool)
		}
	})
}
