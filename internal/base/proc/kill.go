package proc

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// leaders are the first processes of the commands and children that run.
var leaders sync.Map

// KillAll ends every command, and every child of Start, with all that came from them,
// at once and without a word: this process is about to end, too, and nothing of it
// may stay. Who waits for one of them is told that it was killed.
func KillAll() {
	var trees []*tree
	leaders.Range(func(pid, _ any) bool {
		forget(pid.(int))
		trees = append(trees, &tree{leader: pid.(int)})
		return true
	})
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline); {
		left := false
		for _, t := range trees {
			t.signal(unix.SIGSTOP) // what is stopped can't fork between the list and the KILL
			t.signal(unix.SIGKILL)
			left = !t.gone(20*time.Millisecond) || left
		}
		if !left {
			return
		}
	}
}
