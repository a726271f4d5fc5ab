package prompt

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/tokens"
	"github.com/kxtools/kx/internal/tools/file/place"
)

// What may be attached. Text that is sent once is sent with every request of the run;
// a model reads what it needs of a longer file by read_file.
const (
	maxWhole    = 16 << 10  // of a longer file only the beginning is attached
	beginning   = 1 << 10   // that is it
	maxFile     = 64 << 10  // a file that is longer is not attached
	maxAttached = 200 << 10 // all of them together
	maxEntries  = 200       // of a folder
	maxImage    = 5 << 20   // what providers take
	maxImages   = 20 << 20  // all of them, with what a request may have
)

// Attachable says why a file that a person names on the command line can't be
// attached at all: it is not there, protected or denied.
func Attachable(j *judge.Judge, home string, names []string) error {
	r := &reader{judge: j, home: home}
	for _, name := range names {
		f, err := r.open(name, true)
		switch {
		case missing(err):
			return fail.Usage("there is no file %s to attach", name)
		case err != nil && fail.Exit(err) == fail.ExitDenied:
			return fail.Denied("denied", "%s can't be attached: %s", name, reason(err, name)).
				WithHint("kx policy check --tool read_file --input '{\"path\":\"%s\"}'", name)
		case err == nil:
			f.Close()
		}
	}
	return nil
}

// Task reads what a session begins with: the files that a person attached, and those
// that the prompt names as @path, which are in the workspace.
func (b *Builder) Task(text string, attach []string) (*Task, error) {
	j, err := b.Open()
	if err != nil {
		return nil, err
	}
	a := &attacher{reader: reader{j, b.Home, b.Hide}, left: maxAttached, pixels: maxImages, seen: map[string]bool{}}
	for _, name := range attach {
		a.add(name, true)
	}
	prompt, found := mentions(text, a.exists)
	for _, name := range found {
		a.add(name, false)
	}
	t := &Task{Prompt: prompt, Images: a.images, Sources: a.sources}
	if a.text.Len() > 0 {
		t.Attached = "Attached to this:\n" + a.text.String()
	}
	return t, nil
}

// attacher collects what is attached.
type attacher struct {
	reader
	left    int // bytes of text
	pixels  int // bytes of images
	seen    map[string]bool
	text    strings.Builder
	images  []model.Image
	sources []Source
}

// exists reports whether a word of a prompt is a path.
func (a *attacher) exists(name string) bool {
	where, _, err := a.locate(name)
	if err != nil {
		return false
	}
	_, err = os.Lstat(where)
	return err == nil
}

// add attaches a file or a folder, or says why not.
func (a *attacher) add(name string, granted bool) {
	where, d, err := a.locate(name)
	if err == nil && a.seen[where] {
		return
	}
	a.seen[where] = true
	src := Source{Source: name, Kind: KindAttached}
	var f *file
	switch {
	case err != nil:
	case !granted && d.Guard == nil && !paths.Inside(a.judge.Workspace, where): // --attach takes nothing protected
		err = fail.Denied("outside", "it is outside of the workspace: --attach takes it")
	default:
		f, err = a.open(name, granted)
	}
	body := ""
	if err == nil {
		defer f.Close()
		src.Source, src.Bytes = f.show, int(f.size)
		body, err = a.body(f, &src)
	}
	if err != nil {
		src.Lost = reason(err, src.Source)
		fmt.Fprintf(&a.text, "[%s is not attached: %s]\n", place.Name(src.Source), src.Lost)
	} else if body != "" {
		seen := source(src.Source, src.Kind, body)
		src.Tokens, src.SHA256 = seen.Tokens, seen.SHA256
		a.text.WriteString(body)
	}
	a.sources = append(a.sources, src)
}

// body is what the model sees of a file, "" for an image.
func (a *attacher) body(f *file, src *Source) (string, error) {
	show, note := place.Name(f.show), ""
	if filepath.IsAbs(f.show) {
		note = ", from outside of the workspace"
	}
	if f.dir {
		list, err := a.entries(f, src)
		if err != nil {
			return "", err
		}
		return a.take(fmt.Sprintf("--- folder %s%s ---\n%s--- end of %s ---\n", show, note, list, show), src)
	}
	head := make([]byte, pictureHead)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 && f.size > 0 {
		return "", place.Explain(err, f.show)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", place.Explain(err, f.show)
	}
	if p := pictureOf(head[:n]); p != nil {
		return "", a.image(f, p, src)
	}
	body, err := f.text(maxFile + 1)
	switch {
	case err != nil:
		return "", err
	case f.size > maxFile:
		return "", fail.Limit("too_large", "it has %s, more than %s: read what you need of it with read_file", place.Size(f.size), place.Size(maxFile))
	case f.size > maxWhole:
		body = lines(body, beginning)
		src.Lost = fmt.Sprintf("only the first %s of %s are attached", place.Size(int64(len(body))), place.Size(f.size))
		note += "; " + src.Lost + ", read_file shows the rest"
	}
	if n := len(body); n > 0 && body[n-1] != '\n' {
		body = append(body, '\n')
	}
	return a.take(fmt.Sprintf("--- %s (%s%s) ---\n%s--- end of %s ---\n", show, place.Size(f.size), note, body, show), src)
}

// take counts text against what all may have.
func (a *attacher) take(text string, src *Source) (string, error) {
	if len(text) > a.left {
		src.Lost = ""
		return "", fail.Limit("too_large", "what is attached has more than %s together: read it with read_file or list_files", place.Size(maxAttached))
	}
	a.left -= len(text)
	return text, nil
}

// image attaches a picture.
func (a *attacher) image(f *file, kind *picture, src *Source) error {
	switch {
	case f.size > maxImage:
		return fail.Limit("too_large", "the image has %s, more than %s", place.Size(f.size), place.Size(maxImage))
	case f.size > int64(a.pixels):
		return fail.Limit("too_large", "the images have more than %s together", place.Size(maxImages))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil || len(data) > maxImage {
		return fail.Failed("unreadable", "it changed while it was read")
	}
	if !kind.whole(data) {
		return fail.Failed("damaged", "the image is damaged: its end is missing")
	}
	a.pixels -= len(data)
	a.images = append(a.images, model.Image{MediaType: kind.mediaType, Data: bytes.Clone(data)})
	seen := source(src.Source, src.Kind, string(data))
	src.Tokens, src.SHA256 = tokens.PerImage, seen.SHA256
	fmt.Fprintf(&a.text, "[image %d: %s]\n", len(a.images), place.Name(f.show))
	return nil
}

// entries lists a folder, without what the policy does not let be named.
func (a *attacher) entries(f *file, src *Source) (string, error) {
	all, err := f.ReadDir(-1)
	if err != nil {
		return "", place.Explain(err, f.show)
	}
	may := a.mayRead(f.path)
	var names []string
	hidden := 0
	for _, e := range all {
		if !may(filepath.Join(f.path, e.Name())) {
			hidden++
			continue
		}
		name := place.Name(e.Name())
		switch {
		case e.IsDir():
			name += "/"
		case e.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var lost []string
	if n := len(names); n > maxEntries {
		names = names[:maxEntries]
		lost = append(lost, fmt.Sprintf("%d of %d entries are listed, list_files shows the rest", maxEntries, n))
	}
	if hidden > 0 {
		lost = append(lost, fmt.Sprintf("%d entries are left out by policy", hidden))
	}
	src.Lost = strings.Join(lost, "; ")
	text := strings.Join(names, "\n") + "\n"
	if len(names) == 0 {
		text = "(nothing)\n"
	}
	if src.Lost != "" {
		text += "[" + src.Lost + "]\n"
	}
	return text, nil
}
