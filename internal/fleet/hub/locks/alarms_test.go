package locks

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// TestAlarmOfQueue: a lock raises an alarm while a target waits for longer than alarm_after.
func TestAlarmOfQueue(t *testing.T) {
	wait := func(owner string, since, asked time.Duration) coordination.Waiter {
		return coordination.Waiter{Owner: owner, Since: since.Milliseconds(), Asked: asked.Milliseconds()}
	}
	state := coordination.State{Definition: coordination.Definition{Name: "a", AlarmAfter: 10 * time.Minute},
		Waiters: []coordination.Waiter{
			wait("web2", 0, 11*time.Minute),
			wait("web1", time.Minute, 11*time.Minute),
			wait("web3", 2*time.Minute, 11*time.Minute),
			wait("gone", 0, 5*time.Minute),
		}}
	for now, want := range map[time.Duration]string{
		10*time.Minute - 1: "",
		10 * time.Minute:   "web2",
		11 * time.Minute:   "web1 web2",
		12 * time.Minute:   "web1 web2 web3",
		14 * time.Minute:   "", // they did not ask again
	} {
		got := alarmsOfState(state, now)
		text := ""
		for _, a := range got {
			if a.Kind != assign.LockQueue || a.Count != len(a.Targets) || a.Text != "Targets have waited for more than 10m "+
				"for a slot of the lock a. See the owners of the slots, and the waiting targets: fettle lock list" {
				t.Errorf("%s: %+v", now, a)
			}
			for i, x := range a.Targets {
				if i > 0 {
					text += " "
				}
				text += string(x)
			}
		}
		if text != want {
			t.Errorf("%s: %q, want %q", now, text, want)
		}
	}
	state.AlarmAfter = 0
	if got := alarmsOfState(state, 12*time.Minute); len(got) > 0 {
		t.Errorf("without alarm_after: %+v", got)
	}
}

func alarmsOfState(s coordination.State, now time.Duration) []assign.Alarm {
	return delayed([]coordination.State{s}, now.Milliseconds())
}
