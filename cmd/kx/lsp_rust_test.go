package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/lsptest"
	"github.com/kxtools/kx/pkg/wire"
)

// newCrate is a workspace with the sample in Rust, whose code is trusted.
func newCrate(t *testing.T) *project {
	t.Helper()
	c := newProject(t, nil)
	c.env = append(c.env, "RUSTUP_HOME="+rustup())
	c.known = lsptest.Sample(t, "rust", c.work)
	c.write("../config/config.toml", "[sandbox]\nenv = [\"RUSTUP_HOME\"]\n")
	if exit, out := c.kx("trust", "add", "--level", "code", "--key", c.key()); exit != 0 {
		t.Fatalf("trust add: %d %s", exit, out)
	}
	return c
}

// rustup is where the toolchains of rustup are: its cargo looks for them in HOME.
func rustup() string {
	if dir := os.Getenv("RUSTUP_HOME"); dir != "" {
		return dir
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".rustup")
}

const (
	calls = "mod price;\n\nfn main() {\n    let sum = price::total(3);\n    println!(\"{sum}\");\n}\n"
	total = "pub fn total(n: u32) -> u32 {\n    n + 1\n}\n"
)

// moved is a value that is used after it went: what only the compiler finds.
const moved = "    let v = vec![1];\n    let w = v;\n    println!(\"{v:?} {w:?}\");\n"

// Every answer is from the disk as it is, by one question after each change.
func TestRustIsNeverStale(t *testing.T) {
	c := newCrate(t)
	// Before it has loaded it can't tell, and does not say that there is nothing.
	for _, q := range [][]string{
		{"hover", c.known["total.call"].String()}, {"references", c.known["total"].String()}, {"definition", c.known["total.call"].String()},
		{"symbols", "src/price.rs"}, {"symbols", "--query", "total"}, {"diagnostics", "src/main.rs"}, {"definition", "--symbol", "total"},
	} {
		exit, a := c.ask(q[0], append(q[1:], "--wait", "0s")...)
		told := a.Hover != "" || len(a.Locations) > 0 || len(a.Symbols) > 0 || q[0] == "diagnostics" && a.State == wire.CodeFindings
		if told != (exit == 0) && exit != 124 && exit != 1 || !told && a.Reason == "" {
			t.Errorf("%q at once: %d %+v", q, exit, a)
		}
	}
	exit, a := c.ask("hover", c.known["total.call"].String(), "--wait", "60s")
	if exit != 0 || !strings.Contains(a.Hover, "What all the items cost.") || len(a.Note) > 200 {
		t.Errorf("hover: %d %q, %q", exit, a.Hover, a.Note)
	}

	c.write("src/main.rs", calls)
	c.write("src/price.rs", total)
	c.at("both changed", "definition", "src/main.rs:4:total", "src/price.rs:1")
	pid := c.server().PID
	for i := range rounds(20, 100) {
		lines := strings.Repeat("//\n", i%4)
		c.write("src/price.rs", lines+total)
		c.at("a closed file changed", "definition", "src/main.rs:4:total", fmt.Sprintf("src/price.rs:%d", 1+i%4))
	}
	for range rounds(20, 100) {
		c.remove("src/price.rs")
		c.at("deleted", "definition", "src/main.rs:4:total", "")
		c.write("src/price.rs", total)
		c.at("new", "definition", "src/main.rs:4:total", "src/price.rs:1")
	}
	// The same size, in the same tick of the clock.
	for i := range rounds(20, 100) {
		name := [...]string{"first", "other"}[i%2]
		c.write("src/price.rs", "pub fn "+name+"(n: u32) -> u32 { n }\n")
		c.write("src/main.rs", "mod price;\n\nfn main() {\n    let sum = price::"+name+"(3);\n    println!(\"{sum}\");\n}\n")
		c.at("the same size", "definition", "src/main.rs:4:"+name, "src/price.rs:1")
	}
	c.write("src/price.rs", total)
	c.write("src/main.rs", calls)
	c.at("many new", "references", "src/price.rs:1:total", "src/main.rs:4 src/price.rs:1")
	mods := ""
	want := []string{"src/main.rs:4", "src/price.rs:1"}
	for i := range 40 {
		c.write(fmt.Sprintf("src/m%d.rs", i), "pub fn f() -> u32 { crate::price::total(1) }\n")
		mods += fmt.Sprintf("mod m%d;\n", i)
		want = append(want, fmt.Sprintf("src/m%d.rs:1", i))
	}
	c.write("src/main.rs", calls+mods)
	slices.Sort(want)
	c.at("many new", "references", "src/price.rs:1:total", strings.Join(want, " "))
	for i := range 40 {
		c.remove(fmt.Sprintf("src/m%d.rs", i))
	}
	c.write("src/main.rs", calls)
	c.at("many gone", "references", "src/price.rs:1:total", "src/main.rs:4 src/price.rs:1")

	if err := os.Rename(c.path("src/price.rs"), c.path("src/cost.rs")); err != nil {
		t.Fatal(err)
	}
	c.write("src/main.rs", strings.ReplaceAll(calls, "price", "cost"))
	c.at("renamed", "definition", "src/main.rs:4:total", "src/cost.rs:1")
	c.write("src/bin/more.rs", "fn main() {\n    one();\n}\nfn one() {}\n")
	c.at("a new program", "definition", "src/bin/more.rs:2:one", "src/bin/more.rs:4")
	if now := c.server().PID; now != pid {
		t.Errorf("the server is another one: %d, %d", pid, now)
	}
	manifest := "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
	c.write("src/lib.rs", "#[cfg(feature = \"big\")]\npub mod big;\n#[cfg(feature = \"big\")]\npub use big::grow;\n")
	c.write("src/big.rs", "pub fn grow() {}\n")
	c.at("off", "definition", "src/lib.rs:4:grow", "")
	c.write("Cargo.toml", manifest+"\n[features]\ndefault = [\"big\"]\nbig = []\n")
	c.at("Cargo.toml", "definition", "src/lib.rs:4:grow", "src/big.rs:1")

	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Env = c.work, append(c.env, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "one")
	git("checkout", "-qb", "other")
	c.write("src/cost.rs", "//\n//\n"+total)
	git("commit", "-qam", "two")
	for range rounds(3, 20) {
		git("checkout", "-q", "-")
		c.at("git checkout", "definition", "src/main.rs:4:total", "src/cost.rs:1")
		git("checkout", "-q", "-")
		c.at("git checkout back", "definition", "src/main.rs:4:total", "src/cost.rs:3")
	}
}

// A file is clean when cargo check has looked at this text, and only then.
func TestRustDiagnostics(t *testing.T) {
	c := newCrate(t)
	c.write("src/main.rs", calls)
	c.write("src/price.rs", total)
	c.finds("at first", "src/main.rs", wire.CodeClean, "")
	c.write("src/main.rs", strings.ReplaceAll(calls, "    let sum", moved+"    let sum"))
	a := c.finds("moved", "src/main.rs", wire.CodeFindings, "6:E0382")
	if len(a.Diagnostics) == 1 && (a.Diagnostics[0].Source != "rustc" || len(a.Diagnostics[0].Related) == 0) {
		t.Errorf("%+v", a.Diagnostics)
	}
	c.write("src/price.rs", strings.ReplaceAll(total, "    n", "    let more = 1;\n    n"))
	c.finds("moved still", "src/main.rs", wire.CodeFindings, "6:E0382")
	c.write("src/main.rs", calls)
	c.finds("mended", "src/main.rs", wire.CodeClean, "")
	// Another file than the one that was asked about, which was never open.
	c.finds("another file", "src/price.rs", wire.CodeFindings, "2:unused_variables")
	c.write("src/price.rs", strings.ReplaceAll(total, "u32", "&str"))
	c.finds("its caller", "src/main.rs", wire.CodeFindings, "4:E0308")
	c.write("src/price.rs", total)

	// What belongs to another program is looked at, too.
	c.write("src/bin/more.rs", "fn main() {\n"+moved+"}\n")
	c.write("tests/it.rs", "#[test]\nfn it() {\n"+moved+"}\n")
	c.finds("the first program", "src/main.rs", wire.CodeClean, "")
	c.finds("another program", "src/bin/more.rs", wire.CodeFindings, "4:E0382")
	c.finds("a test", "tests/it.rs", wire.CodeFindings, "5:E0382")
	exit, all := c.ask("diagnostics", "--wait", "60s")
	if exit != 1 || all.State != wire.CodeFindings || all.Total != 2 {
		t.Errorf("all: %d %+v", exit, all)
	}
	c.write("src/bin/more.rs", "fn main() {}\n")
	c.write("tests/it.rs", "")

	// Several at once wait for the same check, and each for all of it.
	for i := range rounds(3, 15) {
		text := calls
		state, want := wire.CodeClean, ""
		if i%2 == 0 {
			text = strings.ReplaceAll(calls, "    let sum", moved+"    let sum")
			state, want = wire.CodeFindings, "6:E0382"
		}
		c.write("src/main.rs", text)
		done := make(chan bool)
		for range 4 {
			go func() {
				c.finds("at once", "src/main.rs", state, want)
				done <- true
			}()
		}
		for range 4 {
			<-done
		}
	}
	c.write("src/main.rs", calls)

	// Nothing changed: nothing is checked again.
	c.finds("before", "src/main.rs", wire.CodeClean, "")
	check, again := time.Duration(0), time.Duration(0)
	for i := range 5 {
		c.write("src/main.rs", calls+strings.Repeat("//\n", i))
		began := time.Now()
		c.finds("an edit", "src/main.rs", wire.CodeClean, "")
		check += time.Since(began)
		began = time.Now()
		c.finds("no edit", "src/main.rs", wire.CodeClean, "")
		again += time.Since(began)
	}
	t.Logf("with a check %v, without %v", check/5, again/5)
	if again > check/2 {
		t.Errorf("a question without an edit takes %v, with one %v", again/5, check/5)
	}

	// A file that no crate has is not compiled: nothing is known of it.
	c.write("src/lone.rs", "pub fn lone() -> u8 { \"\" }\n")
	if a := c.finds("no mod for it", "src/lone.rs", wire.CodeUnavailable, ""); !strings.Contains(a.Reason, "no crate has the file") || a.Code != "unlinked" {
		t.Errorf("no mod for it: %+v", a)
	}
	if exit, all := c.ask("diagnostics", "--wait", "60s"); exit != 0 || all.State != wire.CodeClean || len(all.Skipped) != 1 || all.Skipped[0].Path != "src/lone.rs" {
		t.Errorf("all, without one that is not compiled: %d %+v", exit, all)
	}
	c.write("src/main.rs", "mod lone;\n"+calls)
	c.finds("a mod for it", "src/lone.rs", wire.CodeFindings, "1:E0308")
	c.write("src/lone.rs", "pub fn lone() -> u8 { }\n")
	c.write("src/main.rs", "#[cfg(windows)]\nmod lone;\n"+calls)
	c.finds("for another platform", "src/lone.rs", wire.CodeUnavailable, "")
	c.write("src/main.rs", calls)
	c.remove("src/lone.rs")

	// What a build script wrote lies outside of the workspace, and breaks it all the same.
	const build = "fn main() { std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/made.rs\", \"pub fn made() -> u8 { true }\").unwrap(); }\n"
	c.write("build.rs", build)
	c.write("src/main.rs", calls+"include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n")
	exit, all = c.ask("diagnostics", "--wait", "60s")
	if exit != 5 || all.State != wire.CodeUnavailable || all.Hint != "cargo check" || !strings.Contains(all.Reason, "made.rs, outside of the workspace: mismatched types") {
		t.Errorf("what is made is broken: %d %+v", exit, all)
	}
	c.write("build.rs", strings.ReplaceAll(build, "true", "1"))
	if exit, all := c.ask("diagnostics", "--wait", "60s"); exit > 1 {
		t.Errorf("what is made is mended: %d %+v", exit, all)
	}
	c.remove("build.rs")
	c.write("src/main.rs", calls)

	// Where cargo can't look, nothing is clean, and it is tried again.
	lock, err := os.ReadFile(c.path("Cargo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	c.remove("Cargo.lock")
	for range 2 {
		a := c.finds("no Cargo.lock", "src/main.rs", wire.CodeUnavailable, "")
		if !strings.Contains(a.Reason, "Cargo.lock") || len(a.Reason) > 300 || a.Hint != "cargo check" {
			t.Errorf("no Cargo.lock: %q, %q", a.Reason, a.Hint)
		}
	}
	c.write("Cargo.lock", string(lock))
	c.finds("Cargo.lock is back", "src/main.rs", wire.CodeClean, "")
	manifest, err := os.ReadFile(c.path("Cargo.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("Cargo.toml", string(manifest)+"\n[dependencies]\nkx-no-such-crate = \"1\"\n")
	a = c.finds("a dependency that is not there", "src/main.rs", wire.CodeUnavailable, "")
	if !strings.Contains(a.Reason, "kx-no-such-crate") {
		t.Errorf("a dependency: %q", a.Reason)
	}
	c.write("Cargo.toml", string(manifest))
	c.finds("without it", "src/main.rs", wire.CodeClean, "")
	c.remove("Cargo.toml")
	a = c.finds("no Cargo.toml", "src/main.rs", wire.CodeUnavailable, "")
	if !strings.Contains(a.Reason, "there is no Cargo.toml") {
		t.Errorf("no Cargo.toml: %q", a.Reason)
	}
}

// rust-analyzer runs code of the project: where that is not trusted it does not run.
func TestRustNeedsTrust(t *testing.T) {
	c := newCrate(t)
	c.write("a.py", "one = 1\n\nprint(one)\n")
	c.at("trusted", "definition", c.known["total.call"].String(), "src/price.rs:21")
	if exit, out := c.kx("trust", "rm", "--key", c.key()); exit != 0 {
		t.Fatalf("trust rm: %d %s", exit, out)
	}
	exit, a := c.ask("definition", c.known["total.call"].String())
	if exit != 5 || a.State != wire.CodeUnavailable || a.Hint != "kx trust add --level code" || len(a.Locations) > 0 {
		t.Errorf("trust was withdrawn: %d %+v", exit, a)
	}
	if s := c.server(); s.PID != 0 {
		t.Errorf("it runs on: %+v", s)
	}
	c.at("Python", "definition", "a.py:3:one", "a.py:1")
	if exit, a := c.ask("diagnostics", "--wait", "60s"); exit != 5 || len(a.Skipped) != 1 || a.Skipped[0].Language != "rust" {
		t.Errorf("all: %d %+v", exit, a)
	}
}
