package man_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/man"
	"github.com/kxtools/kx/pkg/wire"
)

// TestHandwrittenPages shows the pages of sections 5 and 7 and expects no
// warning, and that every page which they name is there.
func TestHandwrittenPages(t *testing.T) {
	names, err := fs.Glob(man.FS, "*.[57]")
	if err != nil || len(names) < 4 {
		t.Fatalf("%q, %v", names, err)
	}
	ref := regexp.MustCompile(`\\fB(kx[a-z.\\-]*)\\fR\(([157])\)`)
	for _, name := range names {
		text, err := fs.ReadFile(man.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("man", "--warnings", "-l", "-")
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat")
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &errs
		shown, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, &errs)
		}
		for _, section := range []string{"NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"} {
			if !strings.Contains(string(shown), section+"\n") {
				t.Errorf("%s has no section %s", name, section)
			}
		}
		for _, m := range ref.FindAllStringSubmatch(string(text), -1) {
			page := strings.ReplaceAll(m[1], `\-`, "-") + "." + m[2]
			if _, err := fs.Stat(man.FS, page); err != nil {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	}
}

// TestEveryFieldIsExplained looks for each field of each document in kx-json(7).
func TestEveryFieldIsExplained(t *testing.T) {
	page, err := fs.ReadFile(man.FS, "kx-json.7")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, doc := range []any{
		wire.Call{}, wire.Result{}, wire.Decision{}, wire.RuleDoc{}, wire.MatrixRow{}, wire.Tool{}, wire.Approval{},
		wire.Session{}, wire.Event{}, wire.Run{}, wire.ErrorDoc{},
		wire.Model{}, wire.ModelCandidate{}, wire.ModelResolution{}, wire.ModelTest{}, wire.Host{},
	} {
		names = fields(reflect.TypeOf(doc), names)
	}
	if len(names) < 50 {
		t.Fatalf("only %q", names)
	}
	for _, name := range names {
		if !bytes.Contains(page, []byte(`\fB`+name+`\fR`)) && !bytes.Contains(page, []byte(`\fB`+name+"\n")) {
			t.Errorf("kx-json.7 says nothing of %q", name)
		}
	}
}

// fields appends the JSON names of a struct and of the structs in it.
func fields(t reflect.Type, names []string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fields(t.Elem(), names)
	case reflect.Struct:
	default:
		return names
	}
	if t == reflect.TypeOf(time.Time{}) {
		return names
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if name != "-" {
			names = fields(f.Type, names)
		}
	}
	return names
}
