package jsonedit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

var keys = []string{"hooks", "Pre"}

func isOurs(raw json.RawMessage) bool { return strings.Contains(string(raw), `"kx"`) }

func TestAddAndRemove(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"nothing":          {"", "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"a\": \"kx\"\n      }\n    ]\n  }\n}\n"},
		"an empty object":  {"{}", "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"a\": \"kx\"\n      }\n    ]\n  }\n}"},
		"another key":      {"{\n\t\"z\" :  1.50\n}\n", "{\n\t\"z\" :  1.50,\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"a\": \"kx\"\n\t\t\t}\n\t\t]\n\t}\n}\n"},
		"another hook":     {"{\n  \"hooks\": {\n    \"Post\": []\n  },\n  \"z\": [1,2]\n}\n", "{\n  \"hooks\": {\n    \"Post\": [],\n    \"Pre\": [\n      {\n        \"a\": \"kx\"\n      }\n    ]\n  },\n  \"z\": [1,2]\n}\n"},
		"another element":  {"{\n  \"hooks\": {\n    \"Pre\": [\n      {\"b\": \"}],\\\"\"}\n    ]\n  }\n}\n", "{\n  \"hooks\": {\n    \"Pre\": [\n      {\"b\": \"}],\\\"\"},\n      {\n        \"a\": \"kx\"\n      }\n    ]\n  }\n}\n"},
		"one line":         {`{"z":1,"hooks":{"Pre":[7]}}`, `{"z":1,"hooks":{"Pre":[7, {"a":"kx"}]}}`},
		"one line without": {`{"z": 1}`, `{"z": 1, "hooks": {"Pre":[{"a":"kx"}]}}`},
		"other line ends":  {"{\r\n  \"z\": 1\r\n}\r\n", "{\r\n  \"z\": 1,\r\n  \"hooks\": {\r\n    \"Pre\": [\r\n      {\r\n        \"a\": \"kx\"\r\n      }\r\n    ]\r\n  }\r\n}\r\n"},
	} {
		got, err := Add([]byte(tt.before), keys, map[string]string{"a": "kx"})
		if err != nil || string(got) != tt.after {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, tt.after)
			continue
		}
		back, err := Remove(got, keys, isOurs)
		want := tt.before
		if name == "nothing" {
			want = "{}\n"
		}
		if err != nil || string(back) != want {
			t.Errorf("%s: taken away again, %v\n got %q\nwant %q", name, err, back, want)
		}
	}
}

func TestRemove(t *testing.T) {
	for before, want := range map[string]string{
		`{"hooks":{"Pre":["kx",1,"kx"]}}`: `{"hooks":{"Pre":[1]}}`,
		`{"hooks":{"Pre":[1]}}`:           `{"hooks":{"Pre":[1]}}`,
		`{"hooks":{"Pre":["kx"]},"z":1}`:  `{"z":1}`,
		`{"hooks":{"Pre":["kx"],"P":1}}`:  `{"hooks":{"P":1}}`,
		`{"z":1}`:                         `{"z":1}`,
		"":                                "",
	} {
		if got, err := Remove([]byte(before), keys, isOurs); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", before, got, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, bad := range []string{"// x\n{}", `{"a":1,}`, "[]", `"x"`, `{"hooks":[]}`, `{"hooks":{"Pre":{}}}`, `{"hooks":1}`, "{} {}"} {
		if got, err := Add([]byte(bad), keys, 1); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
		if _, err := List([]byte(bad), keys); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// Whatever the file, adding adds one element and changes nothing else.
func FuzzAdd(f *testing.F) {
	for _, s := range []string{`{}`, `{"hooks":{"Pre":[1]}}`, `{"a":{"b":[{}]}, "hooks" : { } }`, "{\n\t\"hooks\":{\"Pre\":[ ]}}", `{"hooks":1,"hooks":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := List(data, keys)
		if err != nil {
			return
		}
		out, err := Add(data, keys, "kx")
		if err != nil {
			return
		}
		after, err := List(out, keys)
		if err != nil || len(after) != len(before)+1 || string(after[len(before)]) != `"kx"` {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		back, err := Remove(out, keys, isOurs)
		if err != nil || !json.Valid(back) {
			t.Fatalf("%q became %q: %v", out, back, err)
		}
		var a, b map[string]any
		if json.Unmarshal(data, &a) == nil && json.Unmarshal(out, &b) == nil {
			delete(a, "hooks")
			delete(b, "hooks")
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%q became %q", data, out)
			}
		}
	})
}
