package leader

import (
	"context"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// pruned counts how often shared modules were removed.
type pruned struct{ times int }

func (p *pruned) Write(context.Context, uint64, []fleet.Assignment) error { return nil }
func (p *pruned) ForgetShared()                                           {}
func (p *pruned) PruneShared(context.Context) error                       { p.times++; return nil }

// TestPruneShared: only a hub that leads removes shared modules.
func TestPruneShared(t *testing.T) {
	var p pruned
	l := New(Config{Assignments: &p})
	for _, c := range []struct {
		term *term
		want int
	}{{nil, 0}, {&term{}, 1}, {nil, 1}} {
		l.leading(c.term)
		if err := l.PruneShared(t.Context()); err != nil || p.times != c.want {
			t.Errorf("leads: %v; removed %d times, want %d, %v", l.Leads(), p.times, c.want, err)
		}
	}
}
