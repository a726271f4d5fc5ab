package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"syscall"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// Absent stands for the digest of a file that is not there.
const Absent = "absent"

// maxDigest is the largest file that is hashed: what is larger is no script, and
// no file that a person reads before an answer.
const maxDigest = 64 << 20

// Digests returns the sha256 of the files that a call is about, by their path: of
// what it would write, and of the scripts of this workspace that a command would
// run. An answer to a call holds for these contents and no others.
func (j *Judge) Digests(name string, input json.RawMessage) map[string]string {
	var files []string
	switch name {
	case "bash":
		files = j.scripts(input)
	case "write_file", "edit_file", "apply_patch", "lsp_rename":
		entry, _ := catalogue.Lookup(name)
		for _, p := range j.env.Points(&entry, input) {
			if p.Where != nil {
				files = append(files, p.Where.Resolved)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, f := range files {
		out[f] = j.Digest(f)
	}
	return out
}

// Digest is the digest that a file of a call has now, see Digests.
func (j *Judge) Digest(path string) string { return digest(j.Temp.Real(path)) }

// scripts returns the files in folders where tools can write that a command line
// runs: a program that is named by its path, and what an interpreter is given.
func (j *Judge) scripts(input json.RawMessage) []string {
	var in struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	env := *j.env
	if in.Cwd != "" {
		env.Cwd = in.Cwd
	}
	var out []string
	for _, leaf := range shell.Analyze(in.Command).Leaves {
		for _, w := range leaf.Code() {
			out = append(out, locate(&env, &leaf, w)...)
		}
	}
	return out
}

func locate(env *policy.Env, leaf *shell.Leaf, w shell.Word) []string {
	dirs := leaf.Dirs
	if dirs == nil {
		dirs = []string{""}
	}
	var out []string
	for _, dir := range dirs {
		where, err := env.Locate(env.Cwd, shell.Join(dir, w.Text))
		if err == nil && env.Inside(where) {
			out = append(out, where.Resolved)
		}
	}
	return out
}

// digest looks twice: what was a file may be a pipe, or a link, when it is opened.
func digest(path string) string {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return Absent
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	if fi, err = f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return Absent
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, maxDigest+1)); err != nil || n > maxDigest {
		return "unreadable"
	}
	return hex.EncodeToString(h.Sum(nil))
}
