package apply

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// TestWithdraw: an action waits until the last of its notifiers is undone. A notification from before the run stays.
func TestWithdraw(t *testing.T) {
	const a, b, act = addr.Addr("file:/a"), addr.Addr("file:/b"), addr.Addr("act:run/x")
	p := &plan.Plan{Changes: []plan.Change{{Addr: a}, {Addr: b}, {Addr: act, Cause: []addr.Addr{a, b}}}}
	for _, c := range []struct {
		before, undone []addr.Addr
		want           string
	}{
		{nil, nil, "[file:/a file:/b]"},
		{nil, []addr.Addr{a}, "[file:/b]"},
		{nil, []addr.Addr{a, b}, "[]"},
		{[]addr.Addr{a}, []addr.Addr{a, b}, "[file:/a]"},
	} {
		in := Input{Plan: p, Header: journal.Header{Run: 2}}
		if c.before != nil {
			in.Base.Pending = []journal.PendingAct{{Addr: act, Cause: c.before, Run: 1}}
		}
		all := newActions(in)
		if c.before == nil {
			all.notify(0)
		}
		all.notify(1)
		for _, from := range c.undone {
			all.withdraw(from)
		}
		left := all.left()
		if got := fmt.Sprint(all.notifiers(act, []addr.Addr{a, b})); got != c.want || (len(left) > 0) != (c.want != "[]") {
			t.Errorf("before the run %v, undone %v: %s, %+v", c.before, c.undone, got, left)
		}
	}
}
