package rollout

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestVerdicts: the health of a member that was granted the change, and the time, decide whether it is ready, failed or
// silent.
func TestVerdicts(t *testing.T) {
	strategy := Strategy{MinReadyTime: 10, ProgressDeadline: 100, SilentAfter: 50}
	wants := []Change{{Part: "web", Digest: "w2"}}
	granted := Member{State: MemberGranted, Granted: 1000}
	in := func(s MemberState) Member { return Member{State: s, Granted: 1000} }
	const silent = "silent no contact since the change was granted"
	for name, c := range map[string]struct {
		member Member
		target Target
		now    int64
		want   string
	}{
		"ready":                     {granted, Target{Online: true, Health: Healthy, Since: 1005}, 1015, "ready"},
		"ready, not for long":       {granted, Target{Online: true, Health: Healthy, Since: 1005}, 1014, ""},
		"ready since before":        {granted, Target{Online: true, Health: Healthy, Since: 5}, 1009, ""},
		"ready since before, later": {granted, Target{Online: true, Health: Healthy, Since: 5}, 1010, "ready"},
		"failed": {granted, Target{Online: true, Health: Broken}, 1001,
			"failed the run or a check failed"},
		"lost": {Member{State: MemberGranted, Granted: 1000, Lost: true}, Target{Online: true, Health: Broken}, 1001,
			"failed it had failed before the change, and still fails"},
		"it applies": {granted, Target{Online: true, Health: Applying, Since: 1005}, 1104, ""},
		"it applies for long": {granted, Target{Online: true, Health: Applying, Since: 1005}, 1105,
			"failed it is not ready 105 s after the grant"},
		"no report": {granted, Target{Online: true, Since: 1005}, 1099, ""},
		"no report for long": {granted, Target{Online: true, Since: 1005}, 1100,
			"failed it is not ready 100 s after the grant"},
		"it is blocked":      {granted, Target{Online: true, Health: Blocked}, 9000, ""},
		"without the change": {granted, Target{Online: true, Health: Healthy, Since: 1005, Wants: wants}, 9000, ""},
		"no contact":         {granted, Target{Contact: 1000, Health: Healthy}, 1049, ""},
		"silent":             {granted, Target{Contact: 1000, Health: Healthy}, 1050, silent},
		"silent before":      {granted, Target{Contact: 900, Health: Healthy}, 1049, ""},
		"ready and silent":   {in(MemberReady), Target{Contact: 1000}, 1050, silent},
		"failed and silent":  {in(MemberFailed), Target{Contact: 1000}, 1050, ""},
		"skipped and silent": {in(MemberSkipped), Target{Contact: 1000}, 1050, ""},
		"silent and silent":  {in(MemberSilent), Target{Contact: 1000}, 1050, ""},
		"ready and failed": {in(MemberReady), Target{Online: true, Health: Broken}, 1001,
			"failed it was ready, and failed afterwards"},
		"ready and applying":       {in(MemberReady), Target{Online: true, Health: Applying}, 9000, ""},
		"failed and ready":         {in(MemberFailed), Target{Online: true, Health: Healthy}, 1001, "recovered"},
		"failed and applying":      {in(MemberFailed), Target{Online: true, Health: Applying}, 1001, ""},
		"silent and there":         {in(MemberSilent), Target{Online: true, Health: Applying}, 1001, "recovered"},
		"skipped and ready":        {in(MemberSkipped), Target{Online: true, Health: Healthy}, 9000, ""},
		"pending":                  {Member{State: MemberPending}, Target{Online: true, Health: Broken}, 9000, ""},
		"ready, no contact":        {granted, Target{Contact: 1040, Health: Healthy, Since: 1005}, 1080, ""},
		"failed, no contact":       {granted, Target{Contact: 1040, Health: Broken}, 1080, ""},
		"it left":                  {in(MemberLeft), Target{Online: true, Health: Broken}, 9000, ""},
		"it returned":              {in(MemberReturned), Target{Online: true, Health: Broken}, 9000, ""},
		"silent before, and there": {in(MemberSilent), Target{Online: true, Wants: wants}, 1001, ""},
	} {
		for _, phase := range []Phase{Active, OnHold, RollingBack} {
			member := c.member
			r := &Rollout{ID: "r1", Phase: phase, Plan: Plan{Changes: wants, Strategy: strategy},
				Members: map[ID]*Member{"a": &member}}
			r.numbers = newTally(r.Members)
			s := NewState()
			s.Rollouts["r1"], s.open = r, []*Rollout{r}
			turn := newTurn(s, World{Targets: map[ID]Target{"a": c.target}}, c.now)
			turn.verdict(r, "a", &member)
			got := ""
			for _, e := range turn.log {
				got += strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Why))
			}
			if want := map[bool]string{false: c.want}[phase == RollingBack]; got != want {
				t.Errorf("%s, %s: %q, want %q", name, phase, got, want)
			}
		}
	}
}

// TestBreaches: more failed or silent members than permitted end the grants, without those that an operator accepted.
func TestBreaches(t *testing.T) {
	many := func(n int, s MemberState, lost bool) map[ID]*Member {
		out := map[ID]*Member{}
		for i := range 20 {
			m := &Member{State: MemberPending}
			if i < n {
				m.State, m.Lost = s, lost
			}
			out[ID(fmt.Sprint("h", i))] = m
		}
		return out
	}
	const silent = "3 of 20 have no contact since the change, and at most 2 may"
	for name, c := range map[string]struct {
		members  map[ID]*Member
		phase    Phase
		forgiven int
		want     string
	}{
		"one failed":        {many(1, MemberFailed, false), Active, 0, ""},
		"two failed":        {many(2, MemberFailed, false), Active, 0, "2 of 20 failed, and at most 1 may fail"},
		"two accepted":      {many(2, MemberFailed, false), Active, 1, ""},
		"two lost":          {many(2, MemberFailed, true), Active, 0, ""},
		"in a pause":        {many(2, MemberFailed, false), OnHold, 0, ""},
		"two silent":        {many(2, MemberSilent, false), Active, 0, ""},
		"three silent":      {many(3, MemberSilent, false), Active, 0, silent},
		"three accepted":    {many(3, MemberSilent, false), Active, 1, ""},
		"silent and lost":   {many(3, MemberSilent, true), Active, 0, silent},
		"many others ready": {many(20, MemberReady, false), Active, 0, ""},
	} {
		r := &Rollout{ID: "r1", Phase: c.phase, Members: c.members, numbers: newTally(c.members), forgiven: c.forgiven,
			Plan: Plan{Strategy: Strategy{MaxFailed: percent(5), MaxSilent: percent(10), OnBreach: Abort}}}
		s := NewState()
		s.Rollouts["r1"] = r
		turn := newTurn(s, World{}, 1)
		turn.breach(r)
		got := ""
		for _, e := range turn.log {
			got += e.Why
		}
		if got != c.want || len(turn.log) > 0 && turn.log[0].Reaction != Abort {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWaitsOfATarget: a change waits for the reason of its part, but its removal does not. A rollout does not wait for
// parts that it delivers.
func TestWaitsOfATarget(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	webWaits := map[string]string{"web": "db is not ready"}
	for name, c := range map[string]struct {
		wants   []Change
		changes []Change
		waits   map[string]string
		want    string
	}{
		"it waits":           {[]Change{db, web}, []Change{web}, webWaits, "db is not ready"},
		"it does not wait":   {[]Change{db, web}, []Change{web}, nil, ""},
		"of another rollout": {[]Change{db, web}, []Change{db}, webWaits, ""},
		"the same rollout":   {[]Change{db, web}, []Change{db, web}, webWaits, ""},
		"for other parts": {[]Change{db, web}, []Change{db, web}, map[string]string{"db": "top is not ready"},
			"top is not ready"},
		"a removal":           {[]Change{{Part: "web"}}, []Change{{Part: "web"}}, webWaits, ""},
		"it has the change":   {nil, []Change{web}, webWaits, ""},
		"the second one only": {[]Change{db, web}, []Change{{Part: "x"}, web}, webWaits, "db is not ready"},
	} {
		target := Target{Wants: c.wants, Waits: c.waits, WaitsFor: map[string][]string{"web": {"db"}, "db": {"top"}}}
		r := &Rollout{Plan: Plan{Changes: c.changes}}
		if got := target.waitsIn(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if target.wants(r) != (name != "it has the change") {
			t.Errorf("%s: it wants the change: %t", name, target.wants(r))
		}
	}
}

// TestRequirements: a change needs the changes of other parts, if the target lacks them and they do not arrive.
func TestRequirements(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	requires := map[string][]Required{"web": {{Part: "top", Why: "web needs top"}, {Part: "db", Why: "web needs db"}}}
	for name, c := range map[string]struct {
		wants    []Change
		change   Change
		requires map[string][]Required
		arrives  bool
		want     string
	}{
		"it does not arrive":      {[]Change{web, db}, web, requires, false, "web needs db"},
		"it arrives":              {[]Change{web, db}, web, requires, true, ""},
		"the target has it":       {[]Change{web}, web, requires, false, ""},
		"no requirement":          {[]Change{web, db}, web, nil, false, ""},
		"another change":          {[]Change{web, db}, db, requires, false, ""},
		"a removal":               {[]Change{{Part: "web"}, db}, Change{Part: "web"}, requires, false, ""},
		"the removal of the part": {[]Change{web, {Part: "db"}}, web, requires, false, "web needs db"},
	} {
		target := Target{Wants: c.wants, Requires: c.requires}
		if got := target.lacks(c.change, func(Change) bool { return c.arrives }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestSnapshotOfMembers: a snapshot has the newest rollouts within its number of members. Older ones that hold content
// or exclude a target have no members, and the others are left out.
func TestSnapshotOfMembers(t *testing.T) {
	s := NewState()
	for i, end := range []Phase{Completed, Aborted, Superseded, Completed, Completed} {
		id := name(i + 1)
		s.Fold(Event{Rollout: id, Kind: Created, Created: &Plan{Lane: "main", Changes: []Change{{Part: "web", Digest: id}},
			Waves: []Wave{{Members: []ID{"a", "b"}}}}})
		if s.Fold(Event{Rollout: id, Kind: Granted, Target: "a", Before: []Change{{Part: "web"}}}); i == 2 {
			s.Fold(Event{Rollout: id, Kind: Skipped, Target: "b"})
		}
		s.Fold(Event{Rollout: id, Kind: Ended, Phase: end})
	}
	for members, want := range map[int]string{10: "r1:2 r2:2 r3:2 r4:2 r5:2", 9: "r2:2 r3:2 r4:2 r5:2",
		4: "r2:0 r3:0 r4:2 r5:2", 3: "r2:0 r3:0 r5:2", 0: "r2:0 r3:0"} {
		o, ok := s.Snapshot(members)
		var got []string
		for _, r := range o.Rollouts {
			got = append(got, fmt.Sprint(r.ID, ":", len(r.Members)))
			if len(r.Members) == 0 != (r.Plan.Waves == nil) {
				t.Errorf("%d members: %s has the waves %v", members, r.ID, r.Plan.Waves)
			}
		}
		if strings.Join(got, " ") != want || !ok {
			t.Errorf("%d members: %v, want %s", members, got, want)
		}
	}
	if before := s.Rollouts["r5"].Members["a"].Before; len(before) != 1 {
		t.Error("a snapshot changes the state")
	}
	for i, lane := range []string{"main a", "main b", "main a"} {
		s.lanes[ID(fmt.Sprint("h", i))] = lane
	}
	o, _ := s.Snapshot(5)
	if len(o.Rollouts) != 3 || !reflect.DeepEqual(o.Lanes, map[string][]ID{"main a": {"h0", "h2"}, "main b": {"h1"}}) {
		t.Errorf("%d rollouts, %v", len(o.Rollouts), o.Lanes)
	}
	if back := o.State(); !reflect.DeepEqual(back.lanes, s.lanes) || back.next != 6 || len(back.Open()) > 0 ||
		!reflect.DeepEqual(back.held, s.held) || !reflect.DeepEqual(back.skipped, s.skipped) {
		t.Errorf("%+v", back)
	}
	if none, ok := NewState().Snapshot(1); !ok || none.Lanes != nil || none.Defined != nil || none.Catching != nil ||
		none.Next != 1 || (Snapshot{}).State().next != 1 {
		t.Errorf("%+v", none)
	}
}

// TestSnapshotIsSorted: held and excluded content is sorted by lane or target, and by change.
func TestSnapshotIsSorted(t *testing.T) {
	s := NewState()
	for _, lane := range []string{"b", "a", "c"} {
		for _, part := range []string{"web", "db", "top"} {
			s.held[place{lane, Change{Part: part}}] = "r1"
			if s.skipped[ID(lane)] == nil {
				s.skipped[ID(lane)] = map[Change]string{}
			}
			s.skipped[ID(lane)][Change{Part: part}] = "r1"
		}
	}
	o, _ := s.Snapshot(1)
	held, skipped := "", ""
	for _, h := range o.Held {
		held += h.Lane + h.Change.Part + " "
	}
	for _, k := range o.Skipped {
		skipped += string(k.Target) + k.Change.Part + " "
	}
	if want := "adb atop aweb bdb btop bweb cdb ctop cweb "; held != want || skipped != want {
		t.Errorf("%s, %s", held, skipped)
	}
}

// TestTextOfUnprovedParts: the reason of the end of a rollout names the parts that are not stable, each once.
func TestTextOfUnprovedParts(t *testing.T) {
	parts := []Change{{Part: "db", Digest: "d2"}, {Part: "web"}, {Part: "web", Digest: "w2"}}
	const text = "no ready target has its content of db, web, so this is not stable"
	for why, want := range map[string]string{"": text, "2 targets are not ready": "2 targets are not ready; " + text} {
		if got := unprovedText(why, parts); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
