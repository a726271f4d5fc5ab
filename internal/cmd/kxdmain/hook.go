package kxdmain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/internal/host/post"
)

// postHook sends one document to a hook: the request comes on the standard input,
// the answer goes to the standard output.
func postHook(ctx context.Context, _ []string, s *term.IO, _ func(string) string, _ string) int {
	answer, err := func() ([]byte, error) {
		raw, err := io.ReadAll(s.Input(ctx))
		if err != nil {
			return nil, err
		}
		var r hook.Request
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fail.Usage("the request is not understood: %v", err)
		}
		return post.Send(ctx, r)
	}()
	if err == nil {
		err = out.New(s, out.JSONL, false).Raw(answer)
	}
	if err != nil {
		fmt.Fprint(s.Err, out.Sprintf("%s\n", err))
	}
	return fail.Exit(err)
}
