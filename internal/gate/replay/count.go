package replay

import (
	"encoding/json"
	"hash/maphash"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// maxCounted bounds what a tally holds, in calls and in what they are about: some
// 40 MB. Beyond that a number is the least that there are.
const maxCounted = 1 << 20

// Tally knows how many calls of the record a literal rule speaks for.
type Tally struct {
	Capped bool // the record has more calls than were counted

	seed  maphash.Seed
	calls map[uint64]int32 // by what a rule can say of a call
	seen  map[uint64]bool  // calls that were counted
}

// Count reads the whole record, on all processors. Lines that are damaged are left
// out.
func Count(log *audit.Log) (*Tally, error) {
	t := &Tally{seed: maphash.MakeSeed(), calls: map[uint64]int32{}, seen: map[uint64]bool{}}
	const batch = 256 // lines: enough to make handing them on cheap
	lines, found := make(chan [][]byte, runtime.GOMAXPROCS(0)), make(chan []counted, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	var failed error
	go func() {
		defer close(lines)
		var list [][]byte
		for raw, err := range log.Lines(audit.TypeDecision) {
			if err != nil {
				failed = err
				return
			}
			if list = append(list, slices.Clone(raw)); len(list) < batch {
				continue
			}
			select {
			case lines <- list:
				list = nil
			case <-stop:
				return
			}
		}
		lines <- list
	}()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for list := range lines {
				out := make([]counted, 0, len(list))
				for _, raw := range list {
					out = append(out, t.read(raw))
				}
				found <- out
			}
		})
	}
	go func() { wg.Wait(); close(found) }()
	for list := range found {
		for _, c := range list {
			if t.add(c) && !t.Capped {
				t.Capped = true
				close(stop)
			}
		}
	}
	return t, failed
}

// counted is a call by hashes: which one it is, and what it is about.
type counted struct {
	call uint64
	keys []uint64
}

// add counts a call, once however often it was decided. It reports whether there is
// no room for more.
func (t *Tally) add(c counted) (full bool) {
	if len(t.seen) >= maxCounted || len(t.calls) >= maxCounted {
		return true
	}
	if len(c.keys) == 0 || t.seen[c.call] {
		return false
	}
	t.seen[c.call] = true
	for _, k := range c.keys {
		t.calls[k]++
	}
	return false
}

// read returns the hashes of a line of the record.
func (t *Tally) read(raw []byte) counted {
	type point struct{ Effect, Resource string }
	var l struct {
		CallID    string `json:"call_id"`
		Approval  string `json:"approval_id"`
		Session   string
		Workspace string
		Tool      string
		Input     json.RawMessage
		Points    []point
		Leaves    []struct {
			Argv   []string
			Points []point
		}
	}
	if json.Unmarshal(raw, &l) != nil {
		return counted{}
	}
	keys := []uint64{t.key(l.Tool)}
	for _, p := range l.Points {
		keys = append(keys, t.key(l.Tool, p.Effect, resource(p.Effect, p.Resource, l.Workspace)))
	}
	for i, leaf := range l.Leaves {
		if odd(leaf.Argv) && !literal(l.Input, i) {
			continue
		}
		k := t.key(leaf.Argv...)
		keys = append(keys, t.key2(k, l.Tool))
		for _, p := range leaf.Points[min(1, len(leaf.Points)):] { // the first is that it runs
			keys = append(keys, t.key2(k, l.Tool, p.Effect, resource(p.Effect, p.Resource, l.Workspace)))
		}
	}
	slices.Sort(keys)
	c := counted{t.key(l.Session, l.CallID), slices.Compact(keys)}
	if l.Approval != "" {
		c.call = t.key(l.Approval) // whoever asks again, and uses the answer, makes the same call
	}
	return c
}

// Matches returns how many calls but that of the request a rule speaks for, by
// itself: one that is made of the request. Of a rule that is not literal nothing is
// known.
func (t *Tally) Matches(r *policy.Rule, request string) (n int, ok bool) {
	if n, ok = t.matches(r); n > 0 && t.seen[t.key(request)] {
		n--
	}
	return n, ok
}

func (t *Tally) matches(r *policy.Rule) (n int, ok bool) {
	about := []string{r.Tool}
	switch {
	case len(r.Input) > 0:
		return 0, false
	case r.Path != "":
		about = append(about, r.Effect, unescape(r.Path))
	case r.URL != "":
		about = append(about, r.Effect, strings.TrimSuffix(unescape(r.URL), "/**"))
	case r.Effect != "":
		about = append(about, r.Effect, "")
	}
	if r.Command == "" {
		return int(t.calls[t.key(about...)]), true
	}
	words, err := shell.Words(r.Command)
	if err != nil {
		return 0, false
	}
	var argv []string
	for _, w := range words {
		if !w.Literal {
			return 0, false
		}
		argv = append(argv, w.Text)
	}
	return int(t.calls[t.key2(t.key(argv...), about...)]), true
}

// key is a hash of words, the same however they could be joined.
func (t *Tally) key(words ...string) uint64 { return t.key2(uint64(len(words)), words...) }

func (t *Tally) key2(k uint64, words ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, k)
	for _, w := range words {
		maphash.WriteComparable(&h, len(w))
		h.WriteString(w)
	}
	return h.Sum64()
}

// resource is what a rule says of one: the absolute path, or the host.
func resource(effect, r, workspace string) string {
	switch effect {
	case catalogue.Read, catalogue.Write:
		if r != "" && !path.IsAbs(r) {
			return path.Join(workspace, r)
		}
	case catalogue.Net:
		if u, err := url.Parse(r); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	case catalogue.Exec:
		return ""
	}
	return r
}

// unescape is the reverse of how grant writes a path or an address.
func unescape(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// odd reports whether words may stand for what the shell makes of them.
func odd(argv []string) bool {
	return slices.ContainsFunc(argv, func(w string) bool { return strings.ContainsAny(w, "$`*?[{~<(!\\") })
}

// literal reports whether the words of a leaf are what they say.
func literal(input json.RawMessage, leaf int) bool {
	var in struct{ Command string }
	if json.Unmarshal(input, &in) != nil {
		return false
	}
	leaves := shell.Analyze(in.Command).Leaves
	return leaf < len(leaves) && !slices.ContainsFunc(leaves[leaf].Words, func(w shell.Word) bool { return !w.Literal })
}
