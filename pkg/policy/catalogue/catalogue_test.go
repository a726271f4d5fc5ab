package catalogue

import (
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]bool{
		"bash": true, "read_file": true, "raed_file": false, "": false, "*": false,
		"mcp__a__b": true, "mcp__git-hub__get_x": true, "mcp__a__b__c": true, "mcp___a__b": true,
		"mcp__": false, "mcp__a": false, "mcp__a__": false, "mcp____b": false, "mcp__a b__c": false, "mcp__a__b\n": false, "mcp__ä__b": false,
		"claude__Workflow": true, "codex__write_stdin": true, "gemini__x-y": true, "claude__": false, "claude__a b": false, "Claude__X": false,
		"cursor__Shell": false, "claude_X": false, "codex__" + strings.Repeat("x", 128): false,
	} {
		if _, ok := Lookup(name); ok != want {
			t.Errorf("%q: %v, want %v", name, ok, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{"raed_file": "read_file", "bahs": "bash", "grep": "", "write-file": "write_file", "x": ""} {
		if got := Suggest(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
