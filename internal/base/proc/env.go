package proc

import (
	"slices"
	"strings"
)

// passed are the variables that every command gets.
var passed = []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"}

// withheld are never passed on, even if the user lists them: a shell would run
// the file they name before its command.
var withheld = []string{"BASH_ENV", "ENV"}

// Env returns the environment of a command: nine variables, and those that the
// user lists in pass. An unset or empty variable is left out. No KX_* variable
// is passed on: a command has no business with the settings of this process.
func Env(pass []string, getenv func(string) string) []string {
	var env []string
	names := slices.Concat(passed, pass)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(name, "KX_") || slices.Contains(withheld, name) {
			continue
		}
		if v := getenv(name); v != "" && !strings.Contains(v, "\x00") {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// With returns env with some variables set to other values.
func With(env, set []string) []string {
	list := slices.DeleteFunc(slices.Clone(env), func(old string) bool {
		name, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(set, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	})
	return append(list, set...)
}
