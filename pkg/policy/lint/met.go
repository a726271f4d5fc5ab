package lint

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// neverMet says why no call can meet a rule, and what to write instead.
func neverMet(r *rule, names []catalogue.Entry) (detail, remedy string) {
	switch {
	case r.Path != "" && r.URL != "":
		return "nothing has both a path and an address", "make two rules of it"
	case r.Command != "" && r.Effect == "" && (r.Path != "" || r.URL != ""):
		effect := "net"
		if r.Path != "" {
			effect = "read or write"
		}
		return "a command alone speaks for what is run, and that has no path or address", fmt.Sprintf("add effect = %s", effect)
	case r.Command != "" && r.Effect != "" && r.Effect != catalogue.Exec && r.Path == "" && r.URL == "":
	case r.Command != "":
		if detail, remedy = neverRun(r); detail != "" {
			return detail, remedy
		}
	}
	if catalogue.IsMCP(r.Tool) {
		if r.Command != "" || r.Effect == catalogue.Exec {
			return "an MCP tool runs no commands", "remove it, or write tool = \"bash\""
		}
		return "", "" // what an MCP tool takes is not known here
	}
	met := false
	for i := range names {
		if r.Concerns(&names[i]) {
			return "", ""
		}
		met = met || r.Fits(names[i].Name)
	}
	if !met {
		return "", "" // lintName has said so
	}
	return fmt.Sprintf("%s has no effect or input that these conditions speak of", r.Tool), "name the tool that has, or leave the tool out"
}

// neverRun says why no command line comes to the words of a rule: kx takes it apart
// before it compares.
func neverRun(r *rule) (detail, remedy string) {
	if len(r.command.Words) == 0 {
		return "", ""
	}
	lines := []string{quoted(r.command.Words)}
	if r.command.Rest {
		lines = append(lines, lines[0]+" x", lines[0]+" 1 x", lines[0]+" -x")
	}
	var instead []string
	for _, line := range lines {
		script := shell.Analyze(line)
		if script.Unknown != "" || len(script.Leaves) == 0 {
			return "", ""
		}
		for i := range script.Leaves {
			l := &script.Leaves[i]
			switch {
			case l.Unknown != "" || l.Opaque != "":
				return "", ""
			case r.Decision != wire.Allow:
				if r.command.Meets(l.Words) != pattern.No {
					return "", ""
				}
			case l.Kind == shell.Command && r.command.Allows(l.Words):
				return "", ""
			}
			if l.Kind == shell.Command && line == lines[0] {
				instead = l.Argv()
			}
		}
	}
	if len(instead) == 0 {
		return fmt.Sprintf("%s needs no rule, only what it runs does", r.command.Words[0]), "remove it, or write the command that is run"
	}
	text := quoted(instead)
	if r.command.Rest {
		text += " *"
	}
	return "kx compares a command without what stands in front of it", fmt.Sprintf("write command = %q", text)
}

// quoted writes words so that the shell reads them as they are.
func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		if list[i] = w; w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%") != "" {
			list[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}
