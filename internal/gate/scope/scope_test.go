package scope

import (
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
		{`{"credential":{"mcp_server_deny":["github"]}}`, "mcp__github__pulls", true, false},
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
	for _, bad := range []string{``, `[]`, `{"capability":{"tool_alow":[]}}`, `{} {}`, `{"capability":{"tool_allow":"bash"}}`} {
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
