#!/usr/bin/env bash
# Records two terminals, an agent in one and a person in the other, as one picture:
#
#	record.sh FILE.svg
#
# Both are real, in a tmux of their own; what they show is waited for, never slept for.
# Everything happens in a temporary folder, as in run.sh.
set -euo pipefail

[ $# -eq 1 ] || { echo 'usage: record.sh FILE.svg' >&2; exit 2; }
out=$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")
root=$(cd "$(dirname "$0")/../.." && pwd -P)
work=$(mktemp -d "${TMPDIR:-/tmp}/kx-record.XXXXXX")
work=$(cd "$work" && pwd -P)
frames=$work/frames
mkdir "$frames" "$work/config" "$work/clock"

unset "${!KX_@}"
GOCACHE=$(go env GOCACHE) GOPATH=$(go env GOPATH)
export GOCACHE GOPATH HOME=$work
export KX_STATE_DIR=$work/state KX_CONFIG_DIR=$work/config KX_RUNTIME_DIR=$work/run
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
unset NO_COLOR TMUX

mux() { tmux -S "$work/tmux" -f /dev/null "$@"; }
fail() { printf 'record: %s\n' "$*" >&2; exit 1; }

cleanup() {
	local host='' tries
	mux kill-server 2>/dev/null || true
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

# wait_for waits up to 30 s until the terminal shows the text.
wait_for() {
	local terminal=$1 text=$2 tries
	for ((tries = 0; tries < 300; tries++)); do
		! mux capture-pane -p -t "$terminal" | grep -qF -e "$text" || return 0
		sleep 0.1
	done
	mux capture-pane -p -t "$terminal" >&2
	fail "the terminal $terminal never showed $text"
}

# frame keeps what both show, for so many milliseconds.
count=0
frame() {
	local stem
	stem=$frames/$(printf %03d "$count")
	count=$((count + 1))
	mux capture-pane -p -e -t agent: >"$stem.0"
	mux capture-pane -p -e -t person: >"$stem.1"
	echo "$1" >"$stem.ms"
	[ "$count" -gt 1 ] || printf 'an agent\nyou\n' >"$stem.title"
}

# type types a command, some letters a frame, and starts it.
type() {
	local terminal=$1 line=$2 i step=6 shown
	for ((i = 0; i < ${#line}; i += step)); do
		mux send-keys -t "$terminal" -l -- "${line:i:step}"
		shown=${line:0:i+step}
		wait_for "$terminal" "${shown%% }" # tmux leaves out spaces at the end
		frame 180
	done
	frame 400
	mux send-keys -t "$terminal" Enter
}

# press presses a key once the screen has been quiet, which is when keys count.
press() {
	sleep 0.5
	mux send-keys -t person: "$1"
}

cat >"$work/clock/clock.go" <<'GO'
// Package clock cuts times.
package clock

import "time"

// Truncate cuts t to whole steps.
func Truncate(t, step time.Duration) time.Duration {
	return t / step
}
GO
cat >"$work/clock/clock_test.go" <<'GO'
package clock

import (
	"testing"
	"time"
)

func TestTruncate(t *testing.T) {
	if got := Truncate(90*time.Second, time.Minute); got != time.Minute {
		t.Fatal(got)
	}
}
GO
printf 'module example.org/clock\n\ngo 1.24\n' >"$work/clock/go.mod"
# As in run.sh: the tests of this project are harmless, and Go finds its cache by these.
cat >"$work/config/config.toml" <<'TOML'
[experimental]
unsandboxed_bash = true

[sandbox]
env = ["GOCACHE", "GOPATH", "GOROOT", "GOTOOLCHAIN"]
TOML
cat >"$work/clock/model.jsonl" <<'JSON'
{"say":"I'll look at the function and run its test.","calls":[{"tool":"read_file","input":{"path":"clock.go"}},{"tool":"bash","input":{"command":"go test ./... 2>&1 | tail -20"}}]}
{"expect":{"tool":"bash","status":"ok","contains":"FAIL"},"say":"It divides, but never multiplies back.","calls":[{"tool":"edit_file","input":{"path":"clock.go","old_string":"\treturn t / step","new_string":"\treturn t / step * step"}}]}
{"expect":{"tool":"edit_file","status":"ok"},"calls":[{"tool":"bash","input":{"command":"go test ./... 2>&1 | tail -20"}}]}
{"expect":{"tool":"bash","status":"ok","contains":"ok"},"say":"TestTruncate passes: the result is whole steps again.","stop":true}
JSON
git -C "$work/clock" init -q
(cd "$work/clock" && go test ./... >/dev/null 2>&1) && fail 'the test passes before anything was done'

shell="env PS1='$ ' PATH='$root/bin:$PATH' bash --norc --noprofile -i"
mux new-session -d -s agent -x 84 -y 14 -c "$work/clock" "$shell"
mux new-session -d -s person -x 84 -y 24 -c "$work/clock" "$shell"
mux set-option -g status off
wait_for agent: '$'
wait_for person: '$'
frame 600

type person: 'kx approve'
wait_for person: 'Nothing waits'
frame 700
type agent: 'kx agent run "make the failing test pass" --script model.jsonl --wait 10m'
wait_for agent: 'waiting for approval'
wait_for person: 'go test'
wait_for person: 'decided'
frame 3500
press A
wait_for person: '[y]es'
frame 2500
press y
wait_for person: 'clock.go'
wait_for person: 'return t / step * step'
wait_for agent: 'multiplies back'
frame 3500
press a
wait_for agent: 'TestTruncate passes'
wait_for person: 'Nothing waits'
frame 4000

go run "$root/testdata/demo/svg" "$frames" >"$work/out.svg"
mv "$work/out.svg" "$out"
