package provider

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/model"
)

// add puts pieces together; a list are pieces that came together.
func add(t *testing.T, cut bool, together ...[]Fragment) []model.Call {
	t.Helper()
	e := events(line("http://localhost"), strings.NewReader(""))
	var c Calls
	for _, pieces := range together {
		for i, f := range pieces {
			f.Pos, f.Of = i, len(pieces)
			if _, err := c.Add(e, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := c.List(e, cut)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCalls(t *testing.T) {
	one := func(f Fragment) []Fragment { return []Fragment{f} }
	for name, c := range map[string]struct {
		pieces [][]Fragment
		want   string
	}{
		"by index":             {[][]Fragment{one(Fragment{"a", 0, "f", "", 0, 0}), one(Fragment{"b", 1, "g", "", 0, 0}), one(Fragment{"", 0, "", "{}", 0, 0}), one(Fragment{"", 1, "", `{"x":1}`, 0, 0})}, `a f {} b g {"x":1}`},
		"by id":                {[][]Fragment{one(Fragment{"a", 0, "f", `{"x"`, 0, 0}), one(Fragment{"b", 0, "g", `{"y"`, 0, 0}), one(Fragment{"a", 0, "", ":1}", 0, 0}), one(Fragment{"b", 0, "", ":2}", 0, 0})}, `a f {"x":1} b g {"y":2}`},
		"index 0 for all":      {[][]Fragment{one(Fragment{"a", 0, "f", "{", 0, 0}), one(Fragment{"", 0, "", "}", 0, 0}), one(Fragment{"b", 0, "f", "{", 0, 0}), one(Fragment{"", 0, "", "}", 0, 0})}, `a f {} b f {}`},
		"no index":             {[][]Fragment{{{"a", -1, "f", "{}", 0, 0}, {"b", -1, "f", "{}", 0, 0}}}, `a f {} b f {}`},
		"neither":              {[][]Fragment{{{"", -1, "f", "{}", 0, 0}, {"", -1, "f", "{}", 0, 0}}, one(Fragment{"", -1, "f", "{}", 0, 0})}, ` f {}  f {}  f {}`},
		"neither, in pieces":   {[][]Fragment{one(Fragment{"", -1, "f", `{"x"`, 0, 0}), one(Fragment{"", -1, "", ":1}", 0, 0}), one(Fragment{"", -1, "g", "{}", 0, 0})}, ` f {"x":1}  g {}`},
		"neither, two at once": {[][]Fragment{{{"", -1, "f", "{", 0, 0}, {"", -1, "g", "{", 0, 0}}, {{"", -1, "", `"x":1}`, 0, 0}, {"", -1, "", "}", 0, 0}}}, ` f {"x":1}  g {}`},
		"an id of its own":     {[][]Fragment{one(Fragment{"a", 0, "f", "", 0, 0}), one(Fragment{"b", 0, "", "{", 0, 0}), one(Fragment{"c", 0, "", "}", 0, 0})}, `a f {}`},
		"a late id":            {[][]Fragment{one(Fragment{"", 0, "f", "", 0, 0}), one(Fragment{"a", 0, "", "{}", 0, 0})}, `a f {}`},
		"a late id and name":   {[][]Fragment{one(Fragment{"", 0, "f", "", 0, 0}), one(Fragment{"a", 0, "f", "{}", 0, 0})}, `a f {}`},
		"a late name":          {[][]Fragment{one(Fragment{"a", 0, "", "{", 0, 0}), one(Fragment{"", 0, "f", "}", 0, 0})}, `a f {}`},
		"the name again":       {[][]Fragment{one(Fragment{"a", 0, "f", `{"x"`, 0, 0}), one(Fragment{"a", 0, "f", ":1}", 0, 0}), one(Fragment{"a", 0, "f", "", 0, 0})}, `a f {"x":1}`},
		"the id twice":         {[][]Fragment{one(Fragment{"a", 0, "f", "{}", 0, 0}), one(Fragment{"a", 1, "f", "{}", 0, 0})}, `a f {}  f {}`},
		"braces in strings":    {[][]Fragment{one(Fragment{"", 0, "f", `{"x":"}\"}"`, 0, 0}), one(Fragment{"", 0, "f", `}`, 0, 0}), one(Fragment{"", 0, "f", `{}`, 0, 0})}, `f {"x":"}\"}"}  f {}`},
		"an odd id":            {[][]Fragment{one(Fragment{"a b", 0, "f", "{}", 0, 0}), one(Fragment{strings.Repeat("x", 129), 1, "f", "null", 0, 0})}, ` f {}  f {}`},
	} {
		var got []string
		for _, call := range add(t, false, c.pieces...) {
			if call.Broken != "" {
				t.Errorf("%s: %+v", name, call)
			}
			got = append(got, call.ID, call.Tool, string(call.Input))
		}
		if g := strings.Join(got, " "); strings.TrimSpace(g) != strings.TrimSpace(c.want) {
			t.Errorf("%s: %s, want %s", name, g, c.want)
		}
	}
}

func TestBrokenArguments(t *testing.T) {
	long := strings.Repeat("ä", maxWrote)
	for args, want := range map[string]string{
		"{": "they are no JSON: unexpected end of JSON input", "[]": "they are no JSON object", "7": "they are no JSON object", `"{}"`: "they are no JSON object", long: "they are no JSON",
	} {
		got := add(t, false, []Fragment{{Name: "f", Args: args}})[0]
		if string(got.Input) != "{}" || !strings.HasPrefix(got.Broken, want) || len(got.Wrote) > maxWrote+3 || !strings.HasPrefix(args, strings.TrimSuffix(got.Wrote, "…")) {
			t.Errorf("%.20s: %+v", args, got)
		}
	}
	cut := add(t, true, []Fragment{{Name: "f", Index: 0, ID: "a"}, {Name: "f", Index: 1, ID: "b"}})
	if cut[0].Broken != "" || cut[1].Broken == "" {
		t.Errorf("%+v", cut)
	}
	cut = add(t, true, []Fragment{{Name: "f", Index: 0, ID: "a", Args: "["}, {Name: "f", Index: 1, ID: "b", Args: `{"c`}})
	if cut[0].Broken == cutShort || cut[1].Broken != cutShort || cut[1].Wrote != `{"c` {
		t.Errorf("%+v", cut)
	}
}

func TestTooMuch(t *testing.T) {
	e := events(line("http://localhost"), strings.NewReader(""))
	var c Calls
	piece := strings.Repeat("x", 1<<20)
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = c.Add(e, Fragment{Name: "f", ID: "a", Args: piece})
	}
	if failure(t, err).Error() != "an argument of p has more than 16 MiB" || n != 17 {
		t.Errorf("after %d: %v", n, err)
	}
	c, err, n = Calls{}, nil, 0
	for ; err == nil; n++ {
		err = c.Entire(e, "", "f", "")
	}
	if !strings.Contains(err.Error(), "more than 1000 calls") || n != maxCalls+1 {
		t.Errorf("after %d: %v", n, err)
	}
}

func TestArrange(t *testing.T) {
	calls := []model.Call{{ID: "a", Tool: "f"}, {ID: "ü", Tool: "g", Input: json.RawMessage(`{"x":1}`)}}
	in := []model.Message{
		{Role: "user", Content: "hi\xff"},
		{Role: "assistant", Calls: calls},
		{Role: "user", Content: "quick"},
		{Role: "tool", CallID: "ü", Tool: "g", Status: "ok", Content: ""},
		{Role: "assistant", Calls: []model.Call{{ID: "a", Tool: "f"}}},
		{Role: "tool", CallID: "a", Tool: "f", Status: "ok", Content: "1"},
		{Role: "tool", CallID: "a", Tool: "f", Status: "ok", Content: "2"},
		{Role: "assistant", Content: "\n"},
	}
	before, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := Arrange(in)
	if after, _ := json.Marshal(in); string(after) != string(before) {
		t.Errorf("it changed what it was given: %s", after)
	}
	second, third := got[1].Calls[1].ID, got[5].Calls[0].ID
	want := []model.Message{
		{Role: "user", Content: "hi\uFFFD"},
		{Role: "assistant", Calls: []model.Call{{ID: "a", Tool: "f", Input: json.RawMessage("{}")}, {ID: second, Tool: "g", Input: json.RawMessage(`{"x":1}`)}}},
		{Role: "tool", CallID: "a", Tool: "f", Status: "unknown", Content: lost},
		{Role: "tool", CallID: second, Tool: "g", Status: "ok", Content: "(no output)"},
		{Role: "user", Content: "quick"},
		{Role: "assistant", Calls: []model.Call{{ID: third, Tool: "f", Input: json.RawMessage("{}")}}},
		{Role: "tool", CallID: third, Tool: "f", Status: "ok", Content: "1"},
		{Role: "user", Content: "[a result of f, whose call is no longer here]\n2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if len(second) > maxWireID || second == third || third == "a" {
		t.Errorf("ids %q %q", second, third)
	}
	if again := Arrange(in[:3]); again[1].Calls[1].ID != second {
		t.Error("the same conversation has other ids the next time")
	}
}

func FuzzCalls(f *testing.F) {
	f.Add([]byte(`[[{"ID":"a","Index":0,"Name":"f","Args":"{}"}],[{"ID":"","Index":0,"Name":"","Args":"x"}]]`))
	f.Add([]byte(`[[{"Index":-1,"Name":"f","Args":"{\"a\":\"}\"}"},{"Index":-1,"Args":"[]"}]]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var together [][]Fragment
		if json.Unmarshal(raw, &together) != nil {
			return
		}
		e := events(line("http://localhost"), strings.NewReader(""))
		var c Calls
		args := 0
		for _, pieces := range together {
			for i, p := range pieces {
				p.Pos, p.Of = i, len(pieces)
				if _, err := c.Add(e, p); err != nil {
					return
				}
				args += len(p.Args)
			}
		}
		list, err := c.List(e, false)
		ids := map[string]bool{"": false}
		kept := 0
		for _, call := range list {
			if call.Tool == "" || len(call.Input) == 0 || call.Input[0] != '{' || !json.Valid(call.Input) || ids[call.ID] {
				t.Fatalf("%+v", call)
			}
			ids[call.ID] = call.ID != ""
			kept += len(call.Input)
		}
		if err == nil && kept > args+2*len(list) {
			t.Fatalf("%d bytes of arguments became %d", args, kept)
		}
	})
}
