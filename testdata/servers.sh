#!/bin/sh
# Installs the language servers that tests drive into bin/servers, each in a folder of
# its own, in these versions. What is there already stays. rust-analyzer is a package
# of Debian (testdata/apt-packages).
set -eu
cd "$(dirname "$0")/.."
all=bin/servers

# have FOLDER WHAT: whether just that is installed there.
have() { [ "$(cat "$all/$1/installed" 2>/dev/null)" = "$2" ]; }

# failed FOLDER WHAT FROM
failed() {
	rm -rf "${all:?}/$1"
	echo "$2 can't be installed for the tests: see above. It comes from $3, which has to be in reach once." >&2
	exit 1
}

# by_npm FOLDER PACKAGE...
by_npm() {
	folder=$1
	shift
	have "$folder" "$*" && return
	echo "installing $*"
	rm -rf "${all:?}/$folder"
	mkdir -p "$all/$folder"
	npm install --prefix "$all/$folder" --silent --no-audit --no-fund --no-update-notifier --ignore-scripts "$@" >&2 ||
		failed "$folder" "$*" "the registry of npm"
	echo "$*" >"$all/$folder/installed"
}

gopls=golang.org/x/tools/gopls@v0.23.0
if ! have gopls $gopls; then
	echo "installing $gopls (a minute)"
	rm -rf $all/gopls
	mkdir -p $all/gopls/bin
	GOBIN=$PWD/$all/gopls/bin GOFLAGS='' "${GO:-go}" install $gopls || failed gopls $gopls "the proxy of Go modules"
	echo $gopls >$all/gopls/installed
fi
by_npm tsc typescript@7.0.2
by_npm typescript-language-server typescript-language-server@5.3.0 typescript@5.9.3
by_npm pyright pyright@1.1.414
by_npm basedpyright basedpyright@1.40.1
