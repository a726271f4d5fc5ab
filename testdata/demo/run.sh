#!/usr/bin/env bash
# An agent mends a failing test while a second process answers for the human.
# Everything happens in a temporary folder, with a state and a config of its
# own; nothing of the user's is read or written.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd -P)
work=$(mktemp -d "${TMPDIR:-/tmp}/kx-demo.XXXXXX")
work=$(cd "$work" && pwd -P)
kx=$work/bin/kx
agent=

heading() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; }
fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }

# residents prints the pids that run the demo's own copy of kxd. Without /proc
# there is no way to know them; they end by themselves when idle.
residents() {
	local exe pid
	for exe in /proc/[0-9]*/exe; do
		if [ "$(readlink "$exe" 2>/dev/null)" = "$work/bin/kxd" ]; then
			pid=${exe#/proc/}
			printf '%s\n' "${pid%/exe}"
		fi
	done
}

cleanup() {
	local pid tries
	for pid in $agent $(residents); do
		kill "$pid" 2>/dev/null || true
	done
	for ((tries = 0; tries < 50; tries++)); do
		[ -n "$(residents)" ] || break
		sleep 0.1
	done
	rm -rf "$work"
}
trap cleanup EXIT

# pending prints the ids of the requests that wait for an answer.
pending() {
	"$kx" approve list -o jsonl 2>"$work/approve.err" |
		sed -n '/"state":"pending"/s/^{"type":"approval","v":1,"id":"\([a-z0-9]*\)".*/\1/p'
}

# wait_for_request sets id to the first request of the agent. It looks five
# times a second for at most 3 minutes: the tests run before, from a cold cache.
wait_for_request() {
	local tries
	for ((tries = 0; tries < 900; tries++)); do
		id=$(pending) || true
		id=${id%%$'\n'*}
		[ -z "$id" ] || return 0
		kill -0 "$agent" 2>/dev/null || return 1
		sleep 0.2
	done
	return 1
}

unset KX_KXD KX_LOG KX_MODE KX_NO_INPUT KX_OUTPUT KX_SESSION KX_WORKSPACE
export KX_STATE_DIR=$work/state KX_CONFIG_DIR=$work/config KX_RUNTIME_DIR=$work/run
mkdir "$work/bin" "$KX_CONFIG_DIR"
cp "$root/bin/kx" "$root/bin/kxd" "$work/bin/"

heading 'A Go project with a failing test'
cp -R "$root/testdata/repo" "$work/repo"
cd "$work/repo"
git init -q
git add -A
git -c user.name=demo -c user.email=demo@example.org -c commit.gpgsign=false \
	-c core.hooksPath=/dev/null commit -q -m 'a time sheet'
show go test ./...
if go test ./... >"$work/before" 2>&1; then
	fail 'the tests pass before the agent has done anything'
fi
grep -e '--- FAIL' -A 1 "$work/before"

heading 'The policy: go test runs by itself, an edit asks (built-in)'
# Without a sandbox every bash call would ask a human, whatever the policy says.
cat >"$KX_CONFIG_DIR/config.toml" <<'TOML'
[experimental]
unsandboxed_bash = true
TOML
cat >"$KX_CONFIG_DIR/policy.toml" <<'TOML'
[[rule]]
tool = "bash"
command = "go test *"
decision = "allow"
TOML
cat "$KX_CONFIG_DIR/policy.toml"

heading 'One terminal: the agent works'
show 'kx agent run "make the failing test pass" --script script.jsonl --wait 60s'
"$kx" agent run 'make the failing test pass' --script "$root/testdata/demo/script.jsonl" \
	--wait 60s -o table </dev/null &
agent=$!

if ! wait_for_request; then
	cat "$work/approve.err" >&2
	fail 'the agent asked for no approval'
fi

heading 'Another terminal: a human reads the request and allows it'
show "kx approve show $id"
"$kx" approve show "$id" -o table
# The key stands in for a person at a terminal.
show "kx approve allow $id --key \"\$(kx config path approver-key)\""
"$kx" approve allow "$id" --key "$("$kx" config path approver-key)" -o table

heading 'The agent goes on'
status=0
wait "$agent" || status=$?
agent=
[ "$status" -eq 0 ] || fail "the agent ended with exit status $status"

heading 'What it changed'
show git diff
git --no-pager diff
! git diff --quiet || fail 'the agent changed nothing'

heading 'The tests now'
show go test ./...
go test ./...

heading 'What was decided, and by whom'
show kx audit list
"$kx" audit list -o table

heading 'Is the record whole?'
show kx audit verify
"$kx" audit verify -o table
