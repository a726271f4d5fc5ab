package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
)

func object(properties string) string {
	return `{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`
}

func one(t testing.TB, schema string) *Tool {
	t.Helper()
	r, err := NewRegistry([]Tool{{Spec: Spec{Name: "x", Schema: json.RawMessage(schema)}}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Get("x")
}

// Every keyword, on both sides of what it allows.
func TestCheck(t *testing.T) {
	for _, tt := range []struct{ schema, input, want string }{
		{`{"type":"object"}`, ``, `{}`},
		{`{"type":"object"}`, "  \n", `{}`},
		{`{"type":"object"}`, `{"b":1,"a":[null,{"c":"<&>"}]}`, `{"a":[null,{"c":"<&>"}],"b":1}`},
		{`{"type":"object"}`, `{"n":12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{`{"type":"object"}`, `[]`, "x: the input is an array, not an object"},
		{`{"type":"object"}`, `null`, "x: the input is null, not an object"},
		{`{"type":"object"}`, `{`, "x: the input is not JSON: unexpected EOF"},
		{`{"type":"object"}`, `{} {}`, "x: there is something after the input's JSON"},
		{`{"type":"object"}`, `{}}`, "x: there is something after the input's JSON"},
		{`{"type":"object"}`, "{\"a\":\"\xff\"}", "x: the input is not valid UTF-8"},
		{object(`"a":{"type":"string"}`), `{}`, `{}`},
		{object(`"a":{"type":"string"}`), `{"a":"1","a":"2"}`, `{"a":"2"}`},
		{object(`"a":{"type":"string"}`), `{"b":1}`, `x: there is no field "b"`},
		{object(`"a":{"type":"string"}`), `{"A":"1"}`, `x: there is no field "A"`},
		{object(`"a":{"type":"string"}`), `{"a":1}`, "x: a is a number, not a string"},
		{object(`"a":{"type":"string"}`), `{"a":null}`, "x: a is null, not a string"},
		{`{"type":"object","additionalProperties":true}`, `{"b":1}`, `{"b":1}`},
		{`{"type":"object","additionalProperties":false}`, `{"b":1}`, `x: there is no field "b"`},
		{`{"type":"object","additionalProperties":false,"required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}`, `{"a":""}`, `x: "b" is missing`},
		{`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}`, `{"a":""}`, `{"a":""}`},
		{object(`"a":{"type":"boolean"}`), `{"a":false}`, `{"a":false}`},
		{object(`"a":{"type":"boolean"}`), `{"a":"false"}`, "x: a is a string, not true or false"},
		{object(`"a":{"type":"string","enum":["x","y"]}`), `{"a":"y"}`, `{"a":"y"}`},
		{object(`"a":{"type":"string","enum":["x","y"]}`), `{"a":"z"}`, `x: a is "z", expected x, y`},
		{object(`"a":{"type":"string","minLength":2,"maxLength":3}`), `{"a":"äöü"}`, `{"a":"äöü"}`},
		{object(`"a":{"type":"string","minLength":2,"maxLength":3}`), `{"a":"ä"}`, "x: a has 1 characters, allowed are 2 to 3"},
		{object(`"a":{"type":"string","minLength":2,"maxLength":3}`), `{"a":"äöüß"}`, "x: a has 4 characters, allowed are 2 to 3"},
		{object(`"a":{"type":"string","minLength":1}`), `{"a":""}`, "x: a has 0 characters, allowed are at least 1"},
		{object(`"a":{"type":"string","maxLength":1}`), `{"a":"ab"}`, "x: a has 2 characters, allowed are at most 1"},
		{object(`"a":{"type":"integer"}`), `{"a":10.0,"a":-1e2}`, `{"a":-100}`},
		{object(`"a":{"type":"integer"}`), `{"a":9007199254740991}`, `{"a":9007199254740991}`},
		{object(`"a":{"type":"integer"}`), `{"a":9007199254740993}`, "x: a is 9007199254740993, not an integer"},
		{object(`"a":{"type":"integer"}`), `{"a":1.5}`, "x: a is 1.5, not an integer"},
		{object(`"a":{"type":"integer"}`), `{"a":"1"}`, "x: a is a string, not a number"},
		{object(`"a":{"type":"integer"}`), `{"a":1e999}`, "x: a is 1e999, a number that is too large"},
		{object(`"a":{"type":"integer","minimum":1,"maximum":9}`), `{"a":9}`, `{"a":9}`},
		{object(`"a":{"type":"integer","minimum":1,"maximum":9}`), `{"a":0}`, "x: a is 0, allowed are 1 to 9"},
		{object(`"a":{"type":"integer","minimum":1,"maximum":9}`), `{"a":10}`, "x: a is 10, allowed are 1 to 9"},
		{object(`"a":{"type":"number","minimum":0.5}`), `{"a":0.5}`, `{"a":0.5}`},
		{object(`"a":{"type":"number","minimum":0.5}`), `{"a":0.4}`, "x: a is 0.4, allowed are at least 0.5"},
		{object(`"a":{"type":"number"}`), `{"a":true}`, "x: a is a boolean, not a number"},
		{object(`"a":{"type":"array","minItems":1,"maxItems":2}`), `{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
		{object(`"a":{"type":"array","minItems":1,"maxItems":2}`), `{"a":[]}`, "x: a has 0 items, allowed are 1 to 2"},
		{object(`"a":{"type":"array","minItems":1,"maxItems":2}`), `{"a":[1,2,3]}`, "x: a has 3 items, allowed are 1 to 2"},
		{object(`"a":{"type":"array"}`), `{"a":{}}`, "x: a is an object, not an array"},
		{object(`"a":{"type":"array","items":{"type":"integer"}}`), `{"a":[1,2.0]}`, `{"a":[1,2]}`},
		{object(`"a":{"type":"array","items":{"type":"integer"}}`), `{"a":[1,"2"]}`, "x: a[1] is a string, not a number"},
		{object(`"a":{"type":"array","items":` + object(`"b":{"type":"string"}`) + `}`), `{"a":[{"b":"x"},{"c":1}]}`, `x: there is no field "a[1].c"`},
		{object(`"a":` + `{"type":"object","additionalProperties":false,"required":["b"],"properties":{"b":{"type":"string"}}}`), `{"a":{}}`, `x: "a.b" is missing`},
		{object(`"a":{"type":"integer","default":5},"b":{"type":"string","default":"x"}`), `{"b":"y"}`, `{"a":5,"b":"y"}`},
		{object(`"a":` + `{"type":"object","additionalProperties":false,"properties":{"b":{"type":"boolean","default":true}}}`), `{"a":{}}`, `{"a":{"b":true}}`},
	} {
		got, err := one(t, tt.schema).Check(json.RawMessage(tt.input))
		if err != nil {
			if fail.Exit(err) != 2 || fail.As(err).Code != "invalid_input" || fail.As(err).Hint != "kx tool show x" {
				t.Errorf("%s: %+v", tt.input, err)
			}
			got = json.RawMessage(err.Error())
		}
		if string(got) != tt.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", tt.schema, tt.input, got, tt.want)
		}
	}
}

// A message shows a beginning of what the caller wrote, however long that is.
func TestCheckMessages(t *testing.T) {
	long := strings.Repeat("9", 10_000)
	tool := one(t, object(`"e":{"type":"string","enum":["x"]},"n":{"type":"integer"},"f":{"type":"number","maximum":1}`))
	for _, input := range []string{`{"e":"` + long + `"}`, `{"n":` + long + `}`, `{"f":` + long[:300] + `}`, `{"` + long + `":1}`, `{"f":1e` + long + `}`} {
		if _, err := tool.Check(json.RawMessage(input)); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20s: %v", input, err)
		}
	}
}

// A schema in which something would not be checked is refused, however deep.
func TestSchemaRefused(t *testing.T) {
	for schema, want := range map[string]string{
		``:                             "EOF",
		`{"type":"object"} {}`:         "something after",
		`{"type":"array"}`:             "not object",
		`{}`:                           "not object",
		`{"type":"object","oneOf":[]}`: `unknown field "oneOf"`,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                      "needs additionalProperties false",
		`{"type":"object","additionalProperties":true,"properties":{"a":{"type":"string"}}}`:          "needs additionalProperties false",
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                  "cannot unmarshal",
		`{"type":"object","required":["a"]}`:                                                          `"a" is required and no property`,
		object(`"a":{}`):                                                                              `a: type "" is not known`,
		object(`"a":null`):                                                                            "a has no schema",
		object(`"a":{"type":"null"}`):                                                                 `type "null" is not known`,
		object(`"a":{"type":["string","null"]}`):                                                      "cannot unmarshal",
		object(`"a":{"type":"string","pattern":"x"}`):                                                 `unknown field "pattern"`,
		object(`"a":{"type":"string","enum":[]}`):                                                     "enum of nothing",
		object(`"a":{"type":"integer","enum":["1"]}`):                                                 `enum says nothing of type "integer"`,
		object(`"a":{"type":"integer","enum":[1]}`):                                                   "cannot unmarshal",
		object(`"a":{"type":"integer","minLength":1}`):                                                "minLength or maxLength says nothing",
		object(`"a":{"type":"string","maximum":1}`):                                                   "minimum or maximum says nothing",
		object(`"a":{"type":"string","maxItems":1}`):                                                  "minItems or maxItems says nothing",
		object(`"a":{"type":"string","items":{"type":"string"}}`):                                     "items says nothing",
		object(`"a":{"type":"array","required":["x"]}`):                                               "required says nothing",
		object(`"a":{"type":"array","properties":{}}`):                                                "properties says nothing",
		object(`"a":{"type":"array","additionalProperties":false}`):                                   "additionalProperties says nothing",
		object(`"a":{"type":"array","items":{"type":"strin"}}`):                                       `a[]: type "strin" is not known`,
		object(`"a":{"type":"array","items":` + object(`"b":{"type":"bool"}`) + `}`):                  `b: type "bool" is not known`,
		object(`"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}}`): "needs additionalProperties false",
		object(`"a":{"type":"integer","default":"1"}`):                                                "a is a string, not a number",
		object(`"a":{"type":"integer","default":0,"minimum":1}`):                                      "a is 0, allowed are at least 1",
	} {
		r, err := NewRegistry([]Tool{{Spec: Spec{Name: "x", Schema: json.RawMessage(schema)}}})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Verify()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "schema of x: ") {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	spec := func(name string) Tool {
		return Tool{Spec: Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}}
	}
	r, err := NewRegistry([]Tool{spec("b"), spec("c")}, nil, []Tool{spec("a")})
	if err != nil || fmt.Sprint(r.Names()) != "[a b c]" || r.Get("c").Name != "c" || r.Get("d") != nil {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := NewRegistry([]Tool{spec("a")}, []Tool{spec("a")}); err == nil || err.Error() != `two tools are named "a"` {
		t.Errorf("got %v", err)
	}
}

// What Check lets through is UTF-8 JSON, passes again unchanged, and fits the
// schema as Go's own reader sees it, whatever the case of its keys.
func FuzzCheck(f *testing.F) {
	tool := one(f, `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
		"path":{"type":"string","minLength":1,"maxLength":20},"limit":{"type":"integer","minimum":1,"default":7},
		"mode":{"type":"string","enum":["a","b"]},"on":{"type":"boolean"},"x":{"type":"number"},
		"list":{"type":"array","maxItems":3,"items":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}}}}}`)
	for _, seed := range []string{`{"path":"a"}`, `{"path":"a","PATH":"b"}`, `{"path":"a","limit":1e1,"mode":"b","on":true,"x":-0.0,"list":[{"n":3.0},{}]}`,
		`{"path":"\ud800","list":[1]}`, `[`, "{\"path\":\"\xff\"}", `{"path":"a"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		got, err := tool.Check(input)
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			return
		}
		again, err := tool.Check(got)
		if err != nil || !reflect.DeepEqual(got, again) || !utf8.Valid(got) {
			t.Fatalf("%q became %q, then %q, %v", input, got, again, err)
		}
		var in struct {
			Path  string
			Limit int64
			Mode  string
			On    bool
			X     float64
			List  []struct{ N int64 }
		}
		if err := json.Unmarshal(got, &in); err != nil || in.Path == "" || in.Limit < 1 || len(in.List) > 3 || in.Mode != "" && in.Mode != "a" && in.Mode != "b" {
			t.Fatalf("%q became %q: %v", input, got, err)
		}
	})
}
