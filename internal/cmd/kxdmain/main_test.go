package kxdmain_test

import (
	"context"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/kxdmain"
)

func TestUsersNeverTypeIt(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"agent-"}, {""}} {
		s, _, out, errs := term.Test()
		s.OutTTY = true
		if exit := kxdmain.Main(context.Background(), args, s, nil, ""); exit != fail.ExitUsage || out.Len() > 0 ||
			errs.String() != "kx: kxd is started by kx; users never type it\nhint: kx help\n" {
			t.Errorf("kxd %q: exit %d, %q, %q", args, exit, out, errs)
		}
	}
}
