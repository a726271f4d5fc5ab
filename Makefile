# make demo and make test are all that a newcomer needs.
#
# GOFLAGS from the environment reaches every go command. The tag leaves out a
# part of the command-line library that nothing uses.

TAGS     = urfave_cli_no_docs
# Without C the binaries are static, start sooner, and can take rights from all of
# their threads at once.
export CGO_ENABLED = 0
GO       = go
FUZZTIME = 20s
APT      = testdata/apt-packages

prefix  = /usr/local
bindir  = $(prefix)/bin
datadir = $(prefix)/share
mandir  = $(datadir)/man

.PHONY: build demo demo-quietly recording test quick stress clients bench fuzz man completions install deps servers check clean
.NOTPARALLEL:

build:
	$(GO) build -tags $(TAGS) $(BUILDFLAGS) -o bin/ ./cmd/kx ./cmd/kxd

demo: build
	testdata/demo/run.sh

# The demo and the recording as tests: what they show is only of interest if they fail.
demo-quietly: build
	@mkdir -p bin; testdata/demo/run.sh >bin/demo.log 2>&1 </dev/null || { cat bin/demo.log; exit 1; }
	@testdata/demo/record.sh bin/approve.svg >bin/demo.log 2>&1 </dev/null || { cat bin/demo.log; exit 1; }
	@echo 'demo: ok'

# The picture of the README: an agent in one terminal, a person in the other.
recording: build
	testdata/demo/record.sh testdata/demo/approve.svg

# Everything that must hold; the quick half first, so that a slip shows early.
test: deps servers check quick demo-quietly
	$(GO) test -tags $(TAGS) -count=1 -timeout 20m ./...

# Format and vet. That macOS still compiles is a test of internal/arch.
check:
	@unformatted=$$(gofmt -l bench cmd pkg internal completions man testdata); \
	if [ -n "$$unformatted" ]; then \
		printf 'not formatted (gofmt -w):\n%s\n' "$$unformatted" >&2; exit 1; \
	fi
	$(GO) vet -tags $(TAGS) ./... ./testdata/demo/svg

# Half a minute, for the loop while writing.
quick:
	$(GO) test -tags $(TAGS) -short ./pkg/... ./internal/...

# The same tests three times over; KX_STRESS asks those that repeat something for
# their full numbers.
stress: deps servers
	KX_STRESS=1 $(GO) test -tags $(TAGS) -count=3 -timeout 60m ./...

# The clients that ask kx, as their makers publish them (half a gigabyte by npm), each
# with a model on the loopback that wants one command.
clients:
	$(GO) test -tags '$(TAGS) clients' -count=1 -timeout 15m -v -run TestClients ./cmd/kx

# How fast kx decides, beside its peers; what it takes to start, beside an empty
# Go program; and how long its own parts take.
bench:
	cd bench && $(GO) run .
	$(GO) test -tags $(TAGS) -count=1 -v -run Start ./cmd/kx
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchtime 30x ./cmd/kx
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem ./internal/...

# Each fuzz target for FUZZTIME, one after the other.
fuzz:
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd pkg internal | \
	while IFS=: read -r file target; do \
		echo "$${file%/*} $${target#func }"; \
		$(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) "./$${file%/*}" </dev/null || exit 1; \
	done

# The committed files that are made from the tree of commands.
man completions:
	$(GO) run -tags $(TAGS) ./internal/cmd/root/gen $@ $@

# Installs the Debian packages that are missing, or says how.
deps:
	@missing=; \
	while read -r package command rest || [ -n "$$package" ]; do \
		case $$package in ''|'#'*) continue;; esac; \
		if [ -n "$$command" ]; then command -v "$$command" >/dev/null 2>&1 && continue; \
		else dpkg -s "$$package" >/dev/null 2>&1 && continue; fi; \
		missing="$$missing $$package"; \
	done <$(APT); \
	[ -n "$$missing" ] || exit 0; \
	sudo=; [ "$$(id -u)" -eq 0 ] || sudo=sudo; \
	if ! command -v apt-get >/dev/null 2>&1; then \
		echo "missing:$$missing (Debian's names). Install them, then run make again" >&2; exit 1; \
	fi; \
	if [ -n "$$sudo" ] && ! command -v sudo >/dev/null 2>&1; then \
		echo "missing:$$missing. As root: apt-get update && apt-get install -y$$missing" >&2; exit 1; \
	fi; \
	$$sudo apt-get update -q && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing

# The language servers that tests drive, in bin/servers.
servers: deps
	@GO='$(GO)' testdata/servers.sh

# What is installed does not name the folder where it was built. Only here: with other
# flags all packages are compiled once more, for minutes.
install: BUILDFLAGS = -trimpath
install: build
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5 $(DESTDIR)$(mandir)/man7
	install -m 755 bin/kx bin/kxd $(DESTDIR)$(bindir)
	for page in man/*.[157]; do install -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.} || exit 1; done
	install -d $(DESTDIR)$(datadir)/bash-completion/completions $(DESTDIR)$(datadir)/zsh/site-functions $(DESTDIR)$(datadir)/fish/vendor_completions.d
	install -m 644 completions/kx.bash $(DESTDIR)$(datadir)/bash-completion/completions/kx
	install -m 644 completions/_kx $(DESTDIR)$(datadir)/zsh/site-functions/_kx
	install -m 644 completions/kx.fish $(DESTDIR)$(datadir)/fish/vendor_completions.d/kx.fish

clean:
	rm -rf bin dist
