package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// carriers run the command or the code that stands in their arguments: a rule that
// allows them with any arguments allows every command.
var carriers = set(`bash sh zsh dash ksh fish csh tcsh ash rbash busybox toybox env sudo doas su runuser xargs parallel find fd
	eval exec source . command builtin nohup nice time timeout setsid stdbuf ionice chroot unshare nsenter watch script strace ltrace gdb expect
	ssh mosh docker podman nerdctl kubectl lxc tmux screen at batch flock systemd-run
	python node deno bun ruby perl php lua awk gawk mawk tclsh osascript pwsh powershell R Rscript julia groovy scala ghci irb ipython`)

// runners run what files of the workspace say.
var runners = set(`make gmake cmake ninja npm npx yarn pnpm pnpx bunx go cargo mvn gradle gradlew ant just task tox nox pytest rake bundle
	composer uv uvx pipx pip poetry hatch pdm invoke ansible-playbook terraform vagrant bazel meson sbt mix rebar3 stack cabal dotnet msbuild
	swift xcodebuild nix pre-commit lefthook husky jest vitest mocha ts-node tsx tsc webpack vite turbo nx lerna`)

// subcommands are words behind which a runner or carrier runs what follows, or what
// the files of the workspace say.
var subcommands = set(`run test exec x start generate install ci build check dlx run-script script compose`)

// set makes a set of words once it is asked for: most runs of kx lint nothing.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(words) {
			m[w] = true
		}
		return m
	})
}

// family is the name of a program without its version: python3.12 is python.
func family(program string) string {
	base := path.Base(program)
	if bare := strings.TrimRight(base, "0123456789.-"); bare != "" {
		return bare
	}
	return base
}

// tooMuch says how a rule that allows allows everything of its kind.
func tooMuch(r *rule, names []catalogue.Entry) (code, detail, remedy string) {
	bash := r.Fits("bash")
	none := r.conditions == 0
	exec := r.Effect == "" || r.Effect == catalogue.Exec
	switch {
	case none && r.Tool == "*" && r.Effect == "":
		return AllowAll, "it allows every tool", "name the tools that are meant"
	case none && bash && exec:
		return AllowAll, "it allows every command", `add command = "PROGRAM SUBCOMMAND *"`
	case none && r.Tool == "*":
		return AllowAll, fmt.Sprintf("it allows every %s of every tool", r.Effect), "add a path, a url or a tool"
	case none && r.Tool == "mcp__*":
		return AllowAll, "it allows every tool of every server", `write tool = "mcp__SERVER__*", or the tool`
	case bash && exec && r.Path == "" && r.URL == "" && strings.HasSuffix(r.Input["command"], "*"):
		return AllowAll, "it compares the line as a whole, so whatever stands behind these words is allowed, too", "write command instead of input.command"
	case r.Command != "" && bash && exec && r.Path == "":
		return commandTooMuch(r)
	case r.Path != "" && r.Effect != catalogue.Read && writes(r, names) && wholeTree(r):
		return AllowAll, "it allows to write every path", `name a folder: path = "docs/**"`
	case r.URL != "" && r.url.Everything() && r.Command == "":
		return AllowAll, "it allows every address", `name a host: url = "https://example.com/**"`
	}
	return "", "", ""
}

func commandTooMuch(r *rule) (code, detail, remedy string) {
	words := r.command.Words
	if len(words) == 0 {
		return AllowAll, "it allows every command", `write command = "PROGRAM SUBCOMMAND *"`
	}
	name := family(words[0])
	// A word such as run, or a flag such as -c, leaves open what is run.
	open := len(words) == 1 || len(words) == 2 && (subcommands()[words[1]] || strings.HasPrefix(words[1], "-"))
	remedy = "write out the whole command, without the *"
	switch {
	case r.command.Rest && open && carriers()[name]:
		return AllowAll, fmt.Sprintf("%s runs what its arguments say, so this allows every command", name), remedy
	case r.command.Rest && open && runners()[name]:
		return RunsFiles, fmt.Sprintf("%s runs whatever files or arguments say, so this allows every command", name), remedy
	case takesCode(r):
		return AllowAll, fmt.Sprintf("%s runs code that it may be given, so this allows every command", name), "write out what is run, or remove it and let kx ask"
	}
	return "", "", ""
}

// codeFlags are arguments behind which programs take code.
var codeFlags = []string{" x", " -c x", " -e x", " -S x", " --eval x", " -exec x ';'"}

// takesCode reports whether the reader of command lines finds code that it can't
// read where the rule allows any: in what a program may be given, or read.
func takesCode(r *rule) bool {
	tails := []string{""}
	switch words := r.command.Words; {
	case len(words) == 1 && r.command.Rest:
		tails = codeFlags
	case len(words) > 1:
		return false // its first arguments narrow it down
	}
	for _, tail := range tails {
		for _, l := range shell.Analyze(quoted(r.command.Words) + tail).Leaves {
			if l.Opaque != "" && r.command.Allows(l.Words) {
				return true
			}
		}
	}
	return false
}

// writes reports whether a tool that the rule fits can write.
func writes(r *rule, names []catalogue.Entry) bool {
	if catalogue.IsMCP(strings.TrimSuffix(r.Tool, "*")) || r.Fits("bash") {
		return true
	}
	for i := range names {
		if r.Fits(names[i].Name) && slices.Contains(names[i].Effects, catalogue.Write) {
			return true
		}
	}
	return false
}

// wholeTree reports whether a path pattern matches all there is below its root.
func wholeTree(r *rule) bool {
	return strings.Trim(r.path.Glob, "*/") == "" && strings.Contains(r.path.Glob, "**")
}
