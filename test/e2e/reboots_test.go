package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// rebootsInTurn is a lock with one slot for reboots, and the strategy at-once.
const rebootsInTurn = atOnce + `lock "reboots" {
  slots   = 1
  reboots = true
}
`

// TestRebootsInTurn: two hosts that need a reboot at the same time reboot one after the other, because the lock has one
// slot. The second one waits until the first one is ready again, and says so.
func TestRebootsInTurn(t *testing.T) {
	sample.Group(t, 14)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 2)
	f.policy = rebootsInTurn
	f.begin()
	hub := f.hubs[0]
	locks := func() string { return hub.Exec("fettle", "lock", "list").Stdout }
	f.await("the lock", func() bool { return strings.Contains(locks(), "needed for reboots") })
	for _, a := range f.agents {
		f.await(a.Name+" knows the lock", func() bool { return a.has("/run/fettle/reboots") })
		a.Run(t, "touch", "/run/reboot-required")
	}
	f.module = counts + "reboot \"update\" { delay = 1 }\n"
	f.commit("two")
	waits := func() bool { return strings.Contains(locks(), "waits for a slot") }
	f.await("a host waits for a slot", waits)
	f.await("the first reboot", func() bool { return f.rebooted(t) == 1 })
	f.await("the other host gets the slot", func() bool { return f.rebooted(t) == 1 && !waits() })
	f.await("the second reboot", func() bool { return f.rebooted(t) == 2 })
	f.await("the slot is free", func() bool { return f.rebooted(t) == 2 && strings.Contains(locks(), "0 of 1") })
	for _, a := range f.agents {
		if a.Boots() != 2 {
			t.Errorf("%s has booted %d times", a.Name, a.Boots())
		}
	}
}

// rebooted returns the number of hosts that are running after a reboot. At most one host is not running.
func (f *hubsOf) rebooted(t *testing.T) (n int) {
	t.Helper()
	var down []string
	for _, a := range f.agents {
		switch up := a.Exec("true").ExitCode == 0; {
		case !up:
			down = append(down, a.Name)
		case a.Boots() > 1:
			n++
		}
	}
	if len(down) > 1 {
		t.Errorf("%v are down at the same time", down)
	}
	return n
}
