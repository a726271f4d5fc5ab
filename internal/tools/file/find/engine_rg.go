package find

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"time"

	"github.com/kxtools/kx/internal/tools/file/place"
)

// rgEngine lets rg find the lines that may match, and decides with Go's regexp
// which do, and where. So both engines give the same, whatever rg thinks of
// Unicode classes, line ends or bytes that are not UTF-8.
type rgEngine struct {
	*query
	rg, pattern string
	own         *goEngine // for what rg refuses
}

func (e *rgEngine) close() { e.own.close() }

// rgFlags make rg search the files as they are: no configuration, nothing
// ignored, no guess at encodings, and one thread, which keeps their order.
var rgFlags = []string{
	"--json", "--no-config", "--no-ignore", "--hidden", "--text", "--encoding", "none",
	"--no-mmap", "--threads", "1", "--no-messages",
}

// rgMessage is a line of rg's output.
type rgMessage struct {
	Type string
	Data struct {
		Path, Lines rgText
		LineNumber  int64 `json:"line_number"`
	}
}

// rgText is a string, or bytes where it is not UTF-8.
type rgText struct {
	Text  string
	Bytes []byte
}

func (t rgText) raw() []byte {
	if t.Bytes != nil {
		return t.Bytes
	}
	return []byte(t.Text)
}

func (e *rgEngine) search(ctx context.Context, files []candidate, limit int) ([]match, error) {
	args := append(rgFlags[:len(rgFlags):len(rgFlags)], "-e", e.pattern, "--")
	byPath := map[string]candidate{}
	for _, c := range files {
		args = append(args, "./"+c.rel)
		byPath["./"+c.rel] = c
	}
	cmd := exec.CommandContext(ctx, e.rg, args...)
	cmd.Dir = e.abs
	cmd.Env = []string{"LC_ALL=C"}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return e.own.search(ctx, files, limit)
	}
	found, err := e.parse(out, byPath, limit)
	if err != nil || len(found) == limit {
		_ = cmd.Process.Kill() // the rest is of no interest
	}
	ended := cmd.Wait()
	switch {
	case len(found) == limit:
		return found, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || !rgIsSure(ended):
		return e.own.search(ctx, files, limit) // a file has gone, or the pattern is too much for rg
	}
	return found, nil
}

// rgIsSure reports whether rg has searched everything: 0 is found, 1 is not.
func rgIsSure(ended error) bool {
	var exit *exec.ExitError
	return ended == nil || errors.As(ended, &exit) && exit.ExitCode() == 1
}

func (e *rgEngine) parse(r io.Reader, byPath map[string]candidate, limit int) (found []match, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	var c candidate // the file of the moment
	text := false   // whether it is one
	for len(found) < limit {
		b, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(b) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		var m rgMessage
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, err
		}
		switch m.Type {
		case "begin":
			c = byPath[string(m.Data.Path.raw())]
			text = e.isText(c)
		case "match":
			if !text {
				continue
			}
			line := lineEnd(m.Data.Lines.raw())
			if at := e.re.FindIndex(line); at != nil {
				found = append(found, e.at(c.rel, m.Data.LineNumber, line, at[0]))
			}
		}
	}
	return found, nil
}

func (e *rgEngine) isText(c candidate) bool {
	if c.st == nil {
		return false
	}
	head, err := e.own.files.read(c, place.SniffLen)
	return err == nil && !place.IsBinary(head)
}
