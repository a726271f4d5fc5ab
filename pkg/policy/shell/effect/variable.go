package effect

import "strings"

// Steers reports whether a variable can change what programs run.
func Steers(name string) bool {
	switch {
	case In(steeringNames, name):
		return true
	case In(harmlessNames, name):
		return false
	}
	for p := range strings.SplitSeq(steeringPrefixes, " ") {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for s := range strings.SplitSeq(steeringSuffixes, " ") {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// Environment variables by which a program can be made to run something else, or
// to read its settings from elsewhere.
const (
	steeringNames = "PATH IFS ENV SHELL HOME CDPATH GLOBIGNORE VISUAL EDITOR BROWSER PAGER LESSOPEN LESSCLOSE PS0 PS1 PS2 PS3 PS4 SHELLOPTS " +
		"BASHOPTS POSIXLY_CORRECT FPATH ZDOTDIR CC CXX LD AR CLASSPATH TMPDIR TERMINFO FCEDIT HISTFILE INPUTRC TAR TAPE LOCPATH NLSPATH " +
		"HOSTALIASES RES_OPTIONS TZDIR SUDO_PROMPT XAUTHORITY DISPLAY OPTIND"
	harmlessNames = "NODE_ENV GOOS GOARCH GOARM GOMAXPROCS CGO_ENABLED RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE " +
		"PYTHONIOENCODING PYTHONHASHSEED CARGO_TERM_COLOR MANWIDTH GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS AWS_REGION AWS_DEFAULT_REGION NPM_TOKEN"
	steeringPrefixes = "LD_ DYLD_ BASH_ GIT_ SSH_ PYTHON PERL RUBY NODE_ NPM_ npm_ JAVA _JAVA JDK_ CARGO RUST GO CGO_ XDG_ LUA_ PHP DOTNET_ " +
		"MAKE DOCKER_ KUBE AWS_ GLIBC_ GCONV MALLOC_ OPENSSL_ SSL_ CURL_ WGET MAN LESS GREP_ TAR_ RSYNC_ PROMPT KX_ GEM_ BUNDLE_ PIP_ UV_ " +
		"YARN_ PNPM_ DENO_ BUN_ MAVEN_ GRADLE_ PG MYSQL_ ANSIBLE_ TF_ HELM_ CMAKE_ R_ JULIA_ ERL_ ELIXIR_ VIM GDB AWKPATH AWKLIBPATH ZSH_ " +
		"GPG_ GNUPG ELECTRON_ COREPACK_ GTK_ QT_ MONO_ NIX_ HOMEBREW_ CONDA_ VIRTUAL_ENV"
	steeringSuffixes = "PAGER EDITOR _OPTIONS _OPTS OPTS _COMMAND _ASKPASS FLAGS _PRELOAD _WRAPPER _proxy _PROXY _RSH _SHELL"
)

// in reports whether a list of words has a word.
func In(list, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(list[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		at = end
	}
}
