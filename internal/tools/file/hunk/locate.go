package hunk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/pkg/policy/patch"
)

// locate finds the place of a hunk.
func (d *doc) locate(h *patch.Hunk) (spot, error) {
	if len(h.Lines) == 0 {
		return spot{}, &Mismatch{Why: "it has no lines"}
	}
	if len(d.side(h, h.Blank, '+')) == 0 {
		at, err := d.insertion(h)
		at.drop = h.Blank
		return at, err
	}
	drops := []int{0, h.Blank}
	if h.Blank == 0 {
		drops = drops[:1]
	}
	literal := literalEnds(h.Lines)
	for level := range levels {
		for _, drop := range drops {
			old := d.side(h, drop, '+')
			places, err := d.find(old, level, literal)
			if err == nil {
				places, err = d.allowed(h, drop, len(old), places)
			}
			if err != nil {
				return spot{}, err
			}
			if len(places) == 0 {
				continue
			}
			at, err := d.pick(h, places)
			at.drop, at.literal = drop, literal && level == asRead
			if level > asRead {
				at.note = fmt.Sprintf("is at line %d, where %s differs from the patch", at.start+1, differs[level])
			}
			return at, err
		}
	}
	return spot{}, d.nowhere(h)
}

// allowed leaves out places that another hunk has changed, and those that are not at
// the end of the file where the hunk says that it ends there.
func (d *doc) allowed(h *patch.Hunk, drop, n int, places []int) ([]int, error) {
	lines := h.Lines[:len(h.Lines)-drop]
	from, to := 0, n // what it changes: less the context around it
	for i := 0; i < len(lines) && lines[i].Kind == ' '; i++ {
		from++
	}
	for i := len(lines) - 1; i >= 0 && lines[i].Kind == ' '; i-- {
		to--
	}
	var err error
	places = slices.DeleteFunc(places, func(at int) bool {
		return slices.ContainsFunc(d.taken, func(t [2]int) bool {
			if err == nil {
				err = d.step()
			}
			return err != nil || at+from < t[1] && t[0] < at+to || at+from == t[0] && at+to == t[1] && t[0] != t[1]
		})
	})
	cut := slices.ContainsFunc(lines, func(l patch.Line) bool { return l.Cut })
	if err != nil || !cut && !h.End {
		return places, err
	}
	last := slices.DeleteFunc(slices.Clone(places), func(at int) bool { return at+n != len(d.lines) })
	if len(last) == 0 && !cut {
		return places, nil
	}
	return last, nil
}

// pick takes one of the places where the lines of a hunk stand.
func (d *doc) pick(h *patch.Hunk, places []int) (spot, error) {
	if h.At >= 0 {
		want := max(h.At-1, 0)
		for _, at := range []int{want + d.shift, want} {
			if slices.Contains(places, at) {
				d.shift = at - want
				return spot{start: at}, nil
			}
		}
	}
	note := ""
	switch {
	case len(h.Anchors) > 0:
		heads, err := d.chain(h.Anchors)
		if err != nil {
			return spot{}, err
		}
		var below []int
		for _, head := range heads {
			if i, _ := slices.BinarySearch(places, head); i < len(places) && (len(below) == 0 || below[len(below)-1] != places[i]) {
				below = append(below, places[i])
			}
		}
		if len(below) == 0 {
			return spot{}, &Mismatch{Why: fmt.Sprintf("its lines are not below %.80q", h.Anchors[len(h.Anchors)-1]), Near: places[0] + 1}
		}
		places = below
	case h.At < 0:
		behind := places[search(places, d.cursor):]
		if len(behind) == 0 {
			note = "stands above the one before it"
		} else {
			places = behind
		}
	}
	if len(places) > 1 {
		return spot{}, several(places)
	}
	if h.At >= 0 {
		want := max(h.At-1, 0)
		d.shift = places[0] - want
		note = fmt.Sprintf("is at line %d, not at line %d", places[0]+1, want+1)
	}
	return spot{start: places[0], note: note}, nil
}

func search(sorted []int, n int) int {
	i, _ := slices.BinarySearch(sorted, n)
	return i
}

// several refuses a hunk that fits in more than one place.
func several(places []int) error {
	m := &Mismatch{Why: "it fits in several places: give more lines around the change, or the function or class above it behind @@"}
	for _, at := range places {
		m.Places = append(m.Places, at+1)
	}
	return m
}

// chain returns the lines where a chain of anchors ends, each below the one before.
func (d *doc) chain(anchors []string) ([]int, error) {
	ends := []int{-1}
	for i, a := range anchors {
		places, err := d.anchor(a)
		if err != nil {
			return nil, err
		}
		var next []int
		for _, e := range ends {
			below := places[search(places, e+1):]
			if i > 0 && len(below) > 1 {
				below = below[:1]
			}
			for _, p := range below {
				if len(next) == 0 || next[len(next)-1] != p {
					next = append(next, p)
				}
			}
		}
		if ends = next; len(ends) == 0 {
			return nil, &Mismatch{Why: fmt.Sprintf("there is no line %.80q as its @@ says", a)}
		}
		const most = 1000 // so many lines say nothing about a place
		if len(ends) > most {
			return nil, &Mismatch{Why: fmt.Sprintf("more than %d lines are %.80q, as its @@ says", most, a)}
		}
	}
	return ends, nil
}

// anchor returns the lines that are an anchor.
func (d *doc) anchor(a string) ([]int, error) {
	forms := []string{a}
	if bare, ok := strings.CutSuffix(a, "@@"); ok {
		forms = append(forms, strings.TrimRight(bare, " \t"))
	}
	for level := range levels {
		for _, f := range forms {
			if places, err := d.find([]string{f}, level, false); err != nil || len(places) > 0 {
				return places, err
			}
		}
	}
	return nil, nil
}

// insertion finds the place of a hunk that has only new lines.
func (d *doc) insertion(h *patch.Hunk) (spot, error) {
	switch {
	case h.At >= 0 && h.Old > 0 && len(h.Anchors) == 0:
		return spot{}, &Mismatch{Why: "none of the lines around the new ones is given, so their place can't be told"}
	case h.At >= 0 && h.Old == 0:
		at := h.At + d.shift
		if at < 0 || at > len(d.lines) {
			return spot{}, &Mismatch{Why: fmt.Sprintf("it goes behind line %d, but there are %d lines", h.At, len(d.lines))}
		}
		return d.free(spot{start: at})
	case len(h.Anchors) > 0:
		heads, err := d.chain(h.Anchors)
		if err != nil {
			return spot{}, err
		}
		if len(heads) > 1 {
			return spot{}, several(heads)
		}
		return d.free(spot{start: heads[0] + 1})
	case len(d.lines) == 0:
		return spot{}, nil
	}
	return d.free(spot{start: len(d.lines), note: "has no line of the file: its lines were added at the end"})
}

// free refuses a place in the middle of what another hunk has changed.
func (d *doc) free(at spot) (spot, error) {
	for _, t := range d.taken {
		if t[0] < at.start && at.start < t[1] {
			return spot{}, &Mismatch{Why: "it goes into lines that another hunk changes"}
		}
	}
	return at, nil
}

// maxNear bounds the comparisons that are made to say what a hunk may have meant.
const maxNear = 20_000_000

// nowhere says why a hunk has no place: what is nearest to it, and where that
// differs.
func (d *doc) nowhere(h *patch.Hunk) error {
	old := d.side(h, h.Blank, '+')
	m := &Mismatch{Why: "its lines are not in the file"}
	if len(d.lines) == 0 {
		m.Why = "the file is empty"
		return m
	}
	if after := d.side(h, h.Blank, '-'); len(after) > 0 && slices.ContainsFunc(h.Lines, func(l patch.Line) bool { return l.Kind == '+' }) {
		if there, err := d.find(after, asRead, false); err == nil && len(there) == 1 {
			m.Why = fmt.Sprintf("its lines are not in the file, but what it makes of them is, at line %d: it may be applied already", there[0]+1)
			return m
		}
	}
	if len(old)*len(d.lines) > maxNear {
		return m
	}
	for i := range old {
		old[i] = form(plain, old[i])
	}
	lines := d.all(plain)
	best, near := 0, 0
	for at := range lines {
		n := 0
		for i, p := range old {
			if at+i < len(lines) && lines[at+i] == p && p != "" {
				n++
			}
		}
		if n > best || n == best && n > 0 && h.At >= 0 && abs(at-h.At+1) < abs(near-h.At+1) {
			best, near = n, at
		}
	}
	if best == 0 {
		for i, p := range old {
			if m.Want == "" && p != "" {
				m.Want = d.side(h, h.Blank, '+')[i]
			}
		}
		return m
	}
	for i, p := range old {
		if near+i < len(lines) && lines[near+i] == p {
			continue
		}
		m.Near, m.Want = near+i+1, d.side(h, h.Blank, '+')[i]
		if m.Ended = near+i >= len(lines); !m.Ended {
			m.Have = strings.TrimSuffix(d.lines[near+i], "\r")
		}
		m.Why = fmt.Sprintf("its lines are not in the file; the nearest place starts at line %d and differs at line %d", near+1, near+i+1)
		return m
	}
	m.Near = near + 1
	m.Why = fmt.Sprintf("its lines are at line %d, but not where the patch says, or another hunk changes them", near+1)
	return m
}

func abs(n int) int { return max(n, -n) }
