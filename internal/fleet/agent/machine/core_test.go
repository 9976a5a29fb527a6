package machine

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestBackOff: the time until the next attempt doubles up to a maximum. Its upper half is random.
func TestBackOff(t *testing.T) {
	for attempt, want := range []time.Duration{10, 10, 20, 40, 50, 50} {
		least, most := want*time.Second, time.Duration(0)
		for dice := range uint64(2000) {
			m := &core{dice: dice}
			m.now.Mono = time.Hour
			m.backOff(beatTimer, attempt, 10*time.Second, 50*time.Second)
			d := m.due[beatTimer] - time.Hour
			least, most = min(least, d), max(most, d)
		}
		half := want * time.Second / 2
		if least < half || least > half+half/10 || most > want*time.Second || most < 2*half-half/10 {
			t.Errorf("after %d attempts: from %s to %s", attempt, least, most)
		}
	}
}

// TestReady: an agent is ready if the accepted assignment is applied, without an error or an open attempt.
func TestReady(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *core)
		want   bool
	}{
		"applied":          {func(*core) {}, true},
		"nothing accepted": {func(m *core) { m.Accepted = nil }, false},
		"nothing applied":  {func(m *core) { m.Applied = nil }, false},
		"withdrawn":        {func(m *core) { m.Accepted.Withdrawn = "suspended" }, false},
		"other content":    {func(m *core) { m.Applied.Root.Bundle.Digest = "other" }, false},
		"an error":         {func(m *core) { m.Error = "no disk" }, false},
		"an attempt":       {func(m *core) { m.Attempts.Count = 1 }, false},
		"without a module": {func(m *core) { m.Accepted.Modules = []fleet.Assigned{{Module: "modules/web"}} }, false},
	} {
		m := &core{}
		m.Accepted, m.Applied = &fleet.Assignment{}, &fleet.Assignment{}
		if c.change(m); m.ready() != c.want {
			t.Errorf("%s: it is ready: %t", name, !c.want)
		}
	}
}

// TestTimeOfAModule: a module is not applied before its time.
func TestTimeOfAModule(t *testing.T) {
	for at, want := range map[int64]bool{0: false, 99: false, 100: false, 101: true} {
		m := &core{}
		m.now.Wall = 100 * int64(time.Second)
		if m.notYet(fleet.Assigned{NotBefore: at}) != want {
			t.Errorf("at %d: it waits: %t", at, !want)
		}
	}
}
