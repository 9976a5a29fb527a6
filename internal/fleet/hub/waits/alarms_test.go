package waits

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/lang/query"
)

// TestAlarmOfBarrier: a barrier raises an alarm while a member waits for longer than alarm_after, at each hub. Without
// the attribute, it raises none.
func TestAlarmOfBarrier(t *testing.T) {
	s := newSite(t)
	a, b := s.hub(), s.hub()
	all := query.Coordination{Barriers: []query.Barrier{
		{Name: "late", Members: []string{"db0", "db1", "db2"}, Quorum: "all", AlarmAfter: 600},
		{Name: "quiet", Members: []string{"db0", "db1"}, Quorum: "all"},
	}}
	s.declare(a, all)
	run := "r1"
	repeat := func(until time.Duration, members ...int) {
		for end := s.now.Add(until); s.now.Before(end); s.now = s.now.Add(time.Minute) {
			for _, i := range members {
				s.ask(a, i, arrive("late", run), `"why"`)
			}
			s.ask(a, 0, arrive("quiet", "r1"), `"why"`)
		}
	}
	check := func(when string, want ...fleet.TargetID) {
		t.Helper()
		for _, hub := range []*Waits{a, b} {
			bustest.Await(t, when, func() bool {
				got := Alarms(hub.Records, s.now)
				if len(want) == 0 {
					return len(got) == 0
				}
				return len(got) == 1 && got[0].Kind == assign.BarrierClosed && got[0].Count == len(want) &&
					fmt.Sprint(got[0].Targets) == fmt.Sprint(want)
			})
		}
	}
	check("no member waits")
	repeat(9*time.Minute, 0)
	check("the time is not over")
	repeat(2*time.Minute, 0, 1)
	check("one member waits for too long", bustest.ID(0))
	text := Alarms(a.Records, s.now)[0].Text
	if text != "Targets have waited for more than 10m at the barrier late. "+
		"See the missing members: fettle barrier list" {
		t.Errorf("the text is %q", text)
	}
	repeat(10*time.Minute, 0, 1)
	check("two members wait for too long", bustest.ID(0), bustest.ID(1))
	if got := Alarms(a.Records, s.now)[0].Text; got != text {
		t.Errorf("the text changed to %q", got)
	}
	s.ask(a, 2, arrive("late", "r1"), `"done":true`)
	check("the barrier opened")
	run = "r2"
	repeat(11*time.Minute, 0)
	check("the next generation", bustest.ID(0))
	all.Barriers[0].AlarmAfter = 0
	s.declare(a, all)
	check("the repository declares no alarm")
	all.Barriers[0].AlarmAfter = 60
	s.declare(a, all)
	check("the repository declares an alarm again", bustest.ID(0))
	s.now = s.now.Add(3 * time.Minute)
	s.declare(a, all) // the leading hub looks at the arrivals every 15 seconds
	check("the run was killed")
}
