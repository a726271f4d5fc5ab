#!/usr/bin/env bash
# An agent mends a failing test. The one edit that it wants to make waits until
# a second process allows it, as a person in another terminal would.
#
# Everything happens in a temporary folder with a state and a configuration of
# its own; nothing of the user's is read or written.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd -P)
kx=$root/bin/kx
work=$(mktemp -d "${TMPDIR:-/tmp}/kx-demo.XXXXXX")
work=$(cd "$work" && pwd -P)
agent=

unset "${!KX_@}"
export KX_STATE_DIR=$work/state KX_CONFIG_DIR=$work/config KX_RUNTIME_DIR=$work/run
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi
heading() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; [ $# -lt 2 ] || printf '%s\n' "${@:2}"; }
show() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }

cleanup() {
	local host='' tries
	[ -z "$agent" ] || kill "$agent" 2>/dev/null || true
	# The approval host would end by itself after a minute without clients.
	read -r host _ 2>/dev/null <"$KX_STATE_DIR/approvals/host.lock" || true
	if [ -n "$host" ] && kill "$host" 2>/dev/null; then
		for ((tries = 0; tries < 50; tries++)); do
			kill -0 "$host" 2>/dev/null || break
			sleep 0.1
		done
	fi
	rm -rf "$work"
}
trap cleanup EXIT

# follow prints what the agent has said since the last time.
said=0
follow() {
	tail -c "+$((said + 1))" "$work/agent.out" >"$work/agent.new"
	said=$((said + $(wc -c <"$work/agent.new")))
	cat "$work/agent.new"
}

# wait_for_request sets id to the agent's first request. It looks five times a
# second for at most 3 minutes: the agent runs the tests before it asks.
wait_for_request() {
	local tries
	for ((tries = 0; tries < 900; tries++)); do
		id=$("$kx" approve list -o jsonl 2>"$work/approve.err" | sed -n '1s/^{"type":"approval","v":1,"id":"\([a-z0-9]*\)".*/\1/p') || true
		follow
		[ -z "$id" ] || return 0
		kill -0 "$agent" 2>/dev/null || return 1
		sleep 0.2
	done
	return 1
}

heading '1. A Go project with a failing test'
cp -R "$root/testdata/repo" "$work/repo"
cd "$work/repo"
git init -q
git add -A
git -c user.name=demo -c user.email=demo@example.org -c commit.gpgsign=false commit -q -m 'a time sheet'
show go test ./...
if go test ./... >"$work/before" 2>&1; then
	fail 'the tests pass before the agent has done anything'
fi
grep -e '--- FAIL' -A 1 "$work/before" || { cat "$work/before"; fail 'the tests do not run'; }

heading '2. The rules' \
	'Tests may run without asking. Nobody reads .env files. For the rest the built-in' \
	'rules hold: reading is allowed, writing and other commands ask a person.'
mkdir "$KX_CONFIG_DIR"
# Where the kernel gives no sandbox every command would ask, whatever the rules say;
# the tests of this project are harmless. Go finds its cache by these variables.
cat >"$KX_CONFIG_DIR/config.toml" <<'TOML'
[experimental]
unsandboxed_bash = true

[sandbox]
env = ["GOCACHE", "GOPATH", "GOROOT", "GOTOOLCHAIN"]
TOML
cat >"$KX_CONFIG_DIR/policy.toml" <<'TOML'
[[rule]]
tool = "bash"
command = "go test *"
decision = "allow"

[[rule]]
effect = "read"
path = "**/.env*"
decision = "deny"
final = true
TOML
show cat policy.toml
cat "$KX_CONFIG_DIR/policy.toml"

heading '3. What would happen? Nothing runs yet' \
	'A command line is judged part by part; the worst part decides.'
explain() {
	local want=$1 got=0
	show "kx policy check --tool bash --input '$2'"
	"$kx" policy check --tool bash --input "$2" -o table || got=$?
	[ "$got" -eq "$want" ] || fail "kx policy check exits with $got, want $want"
}
explain 4 '{"command":"go test ./... && rm -rf build"}'
explain 3 '{"command":"cat .env | head -3"}'

heading '4. One terminal: the agent works' \
	'Its model is a script here; --exec takes any program that can speak JSON lines.'
show 'kx agent run "make the failing test pass" --script script.jsonl --wait 60s'
"$kx" agent run 'make the failing test pass' --script "$root/testdata/demo/script.jsonl" \
	--wait 60s -o table >"$work/agent.out" 2>&1 </dev/null &
agent=$!
if ! wait_for_request; then
	cat "$work/approve.err" >&2
	fail 'the agent asked for no approval'
fi

heading '5. Another terminal: a person looks, and allows it'
show kx approve list
"$kx" approve list -o table
# The key stands in for a person at a terminal.
show "kx approve allow $id --key \"\$(kx config path approver-key)\""
"$kx" approve allow "$id" --key "$("$kx" config path approver-key)" -o table

heading '6. The agent goes on'
status=0
wait "$agent" || status=$?
agent=
follow
[ "$status" -eq 0 ] || fail "the agent ended with exit status $status"

heading '7. What it changed'
show git diff
git --no-pager diff
! git diff --quiet || fail 'the agent changed nothing'
show go test ./...
go test ./...

heading '8. What was decided, and by whom' \
	'Every decision is on disk before anything runs; every line names the hash of the' \
	'one before it.'
show kx audit list
"$kx" audit list -o table
show kx audit verify
"$kx" audit verify -o table

heading 'That was kx' \
	'The programs are in bin/. In a project of yours, try' \
	'  bin/kx tool list                                       what an agent can do' \
	"  bin/kx call read_file '{\"path\":\"go.mod\"}'              one call through the gate" \
	'  bin/kx help                                            and the rest'
