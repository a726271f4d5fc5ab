package kxdmain_test

import (
	"os"
	"testing"
	"time"
)

// firstRequest is how long it may take from typing to the model being asked, with walls
// around a model that is a program; the machine of a test may be slow.
const firstRequest = 3 * time.Second

func TestFirstRequestIsSoon(t *testing.T) {
	u := newUser(t)
	u.write("home/ws/model.sh", "read -r line\n: >asked\necho '{\"say\":\"Done.\",\"stop\":true}'\n")
	best := time.Hour
	for range 3 {
		_ = os.Remove(u.ws + "/asked")
		start := time.Now()
		u.kx(0, "agent", "run", "x", "--exec", "sh model.sh")
		fi, err := os.Stat(u.ws + "/asked")
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, fi.ModTime().Sub(start))
	}
	t.Logf("the first request comes after %v", best)
	if best > firstRequest {
		t.Errorf("the first request comes after %v", best)
	}
}
