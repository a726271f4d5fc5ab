package live

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/cmd/approve/live/queue"
	"github.com/kxtools/kx/pkg/wire"
)

// maxPast is how many answered requests are listed: those that somebody may still
// have in mind. kx approve list --all has all.
const maxPast = 500

// pastMsg is what was answered, the newest first.
type pastMsg struct {
	list    []*queue.Entry
	left    int // how many older ones there are
	damaged int
}

// listPast reads what was answered.
func (m *Model) listPast() tea.Cmd {
	o := m.o
	return func() tea.Msg {
		all, damaged := o.Store.List("")
		all = slices.DeleteFunc(all, func(a wire.Approval) bool {
			return a.State == wire.ApprovalPending || o.Session != "" && a.Session != o.Session
		})
		slices.SortStableFunc(all, func(a, b wire.Approval) int { return ended(&b).Compare(ended(&a)) })
		msg := pastMsg{list: []*queue.Entry{}, left: max(0, len(all)-maxPast), damaged: len(damaged)}
		for i := range all[:min(len(all), maxPast)] {
			msg.list = append(msg.list, queue.New(&all[i], o.Reader.Hidden(&all[i])))
		}
		return msg
	}
}

// listed shows what was read.
func (m *Model) listed(msg pastMsg) {
	m.past.All, m.remark = msg.list, ""
	if msg.left > 0 {
		m.remark = fmt.Sprintf("%d older: kx approve list --all", msg.left)
	}
	if msg.damaged > 0 {
		m.remark = count(msg.damaged, "damaged request") + ": kx approve list --all"
	}
	m.past.Look(m.past.Filter)
}

// ended is when a request was answered, or expired.
func ended(a *wire.Approval) time.Time {
	switch {
	case a.DecidedAt != nil:
		return *a.DecidedAt
	case a.ExpiresAt != nil:
		return *a.ExpiresAt
	}
	return a.CreatedAt
}
