package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReactionToSilence: members with the change must be silent more often than other targets, by more than 10 percent.
// Otherwise the network is the probable cause.
func TestReactionToSilence(t *testing.T) {
	for name, c := range map[string]struct {
		silent, touched, quiet, others int
		want                           Reaction
	}{
		"10 percent":       {1, 10, 0, 10, Pause},
		"20 percent":       {2, 10, 0, 10, Rollback},
		"20 to 10":         {2, 10, 1, 10, Pause},
		"30 to 10":         {3, 10, 1, 10, Rollback},
		"60 to 50":         {600, 1000, 500, 1000, Pause},
		"60.1 to 50":       {601, 1000, 500, 1000, Rollback},
		"few of many":      {1, 2, 100, 500, Rollback},
		"all":              {10, 10, 10, 10, Pause},
		"without others":   {1, 1, 0, 0, Rollback},
		"without a silent": {0, 1, 0, 10, Pause},
	} {
		const now = 1000
		r := &Rollout{At: 100, Plan: Plan{Strategy: Strategy{SilentAfter: 60, OnBreach: Rollback}}, Members: map[ID]*Member{}}
		w := World{Targets: map[ID]Target{"before": {Contact: 99}}}
		for i := range c.touched {
			id := ID(fmt.Sprint("t", i))
			r.Members[id] = &Member{State: MemberGranted, Granted: 100}
			w.Targets[id] = Target{Online: i >= c.silent, Contact: now - 60}
		}
		for i := range c.others {
			id := ID(fmt.Sprint("o", i))
			w.Targets[id] = Target{Online: i >= c.quiet, Contact: now - 60}
			if i%2 == 0 {
				r.Members[id] = &Member{State: MemberPending}
			}
		}
		if got := newTurn(NewState(), w, now).silenceReaction(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestContactCounts: a target is silent after a time, and another target counts if it had contact during the rollout.
func TestContactCounts(t *testing.T) {
	for name, c := range map[string]struct {
		member, other int64 // the last contact
		want          Reaction
	}{
		"both are silent":        {940, 940, Pause},
		"the member is silent":   {940, 941, Rollback},
		"none is silent":         {941, 941, Pause},
		"silent since the begin": {940, 100, Pause},
		"silent since before":    {940, 99, Rollback},
	} {
		r := &Rollout{At: 100, Plan: Plan{Strategy: Strategy{SilentAfter: 60, OnBreach: Rollback}},
			Members: map[ID]*Member{"a": {State: MemberGranted, Granted: 100}}}
		w := World{Targets: map[ID]Target{"a": {Contact: c.member}, "b": {Contact: c.other}}}
		if got := newTurn(NewState(), w, 1000).silenceReaction(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTimeWithoutContact: time before the start of the hub, before a jump of its clock, and before the event does not
// count.
func TestTimeWithoutContact(t *testing.T) {
	for name, c := range map[string]struct {
		w      World
		target Target
		since  int64
		want   int64
	}{
		"online":              {World{}, Target{Online: true, Contact: 10}, 0, 0},
		"since the contact":   {World{}, Target{Contact: 10}, 0, 90},
		"since the event":     {World{}, Target{Contact: 10}, 20, 80},
		"since the start":     {World{Up: 30}, Target{Contact: 10}, 20, 70},
		"since the jump":      {World{Up: 30, Jump: 40}, Target{Contact: 10}, 20, 60},
		"contact to come":     {World{Jump: 40}, Target{Contact: 200}, 20, 60},
		"an event to come":    {World{Jump: 40}, Target{Contact: 10}, 200, 60},
		"to come, no jump":    {World{}, Target{Contact: 200}, 20, -100},
		"at the present time": {World{Jump: 40}, Target{Contact: 100}, 20, 0},
	} {
		if got := c.w.silentFor(c.target, c.since, 100); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

// TestAway: a target is away after five minutes without contact, until it has contact or is removed. It is not away if
// it never had contact.
func TestAway(t *testing.T) {
	for name, c := range map[string]struct {
		was    bool
		target Target
		now    int64
		want   string
	}{
		"early":           {false, Target{Contact: 1}, awayAfter, ""},
		"after a time":    {false, Target{Contact: 1}, awayAfter + 1, "away"},
		"it is known":     {true, Target{Contact: 1}, awayAfter + 1, ""},
		"it returns":      {true, Target{Online: true, Contact: 1}, awayAfter + 1, "back"},
		"it is there":     {false, Target{Online: true, Contact: 1}, awayAfter + 1, ""},
		"without contact": {false, Target{}, 10 * awayAfter, ""},
	} {
		s := NewState()
		if c.was {
			s = Snapshot{Away: []ID{"a"}}.State()
		}
		got := ""
		for _, e := range s.Decide(World{Targets: map[ID]Target{"a": c.target}}, c.now) {
			got += string(e.Kind) + e.Why
		}
		if got != c.want || s.Away("a") != (c.want == "away" || c.was && c.want == "") {
			t.Errorf("%s: %q, away %t", name, got, s.Away("a"))
		}
	}
	s := Snapshot{Away: []ID{"a", "b"}}.State()
	if !s.Away("a") || !slices.Equal(s.awayIDs(), []ID{"a", "b"}) {
		t.Error("the snapshot loses targets that are away")
	}
	log := s.Decide(World{Targets: map[ID]Target{"a": {}}}, 1)
	if len(log) != 1 || log[0].Target != "b" || !strings.Contains(log[0].Why, "not an active target") || s.Away("b") {
		t.Errorf("%v", log)
	}
}

// TestProvedChanges: a target proves the changes that it has. It proves the removal of a part if it has no content of
// the part.
func TestProvedChanges(t *testing.T) {
	has := map[string]string{"web": "w2", "db": "d1"}
	for _, all := range []bool{false, true} {
		w := World{Has: func(_ ID, part string) string { return has[part] }}
		if all {
			w.Parts = func(ID) (out []Change) {
				for part, digest := range has {
					out = append(out, Change{Part: part, Digest: digest})
				}
				return out
			}
		}
		left := map[Change]bool{{Part: "web", Digest: "w2"}: true, {Part: "db", Digest: "d2"}: true, {Part: "db"}: true,
			{Part: "cache"}: true, {Part: "cache", Digest: "c1"}: true}
		w.remove("a", left)
		if len(left) != 3 || !left[Change{Part: "db", Digest: "d2"}] || !left[Change{Part: "db"}] ||
			!left[Change{Part: "cache", Digest: "c1"}] {
			t.Errorf("with all parts %t: %v are not proved", all, left)
		}
	}
}

// TestReturn: a member has returned when it is ready with its earlier content. Then, or when it cannot be ready, or
// after a time, the rollback ends.
func TestReturn(t *testing.T) {
	strategy := Careful()
	earlier := []Change{{Part: "web", Digest: "w1"}}
	silent, deadline := 1+strategy.SilentAfter, 1+strategy.ProgressDeadline
	for name, c := range map[string]struct {
		before []Change
		has    string
		target Target
		now    int64
		want   string
	}{
		"without earlier content": {nil, "w2", Target{Online: true}, 1, "returned ended"},
		"ready":                   {earlier, "w1", Target{Online: true, Health: Healthy}, 1, "returned ended"},
		"in progress":             {earlier, "w1", Target{Online: true, Health: Applying}, 1, ""},
		"failed":                  {earlier, "w1", Target{Online: true, Health: Broken}, 1, "ended"},
		"with the change":         {earlier, "w2", Target{Online: true, Health: Healthy}, 1, ""},
		"failed with the change":  {earlier, "w2", Target{Online: true, Health: Broken}, 1, ""},
		"no contact":              {earlier, "w1", Target{Contact: 1}, silent - 1, ""},
		"silent":                  {earlier, "w1", Target{Contact: 1}, silent, "ended away"},
		"silent with the change":  {earlier, "w2", Target{Contact: 1}, silent, "away"},
		"before the deadline":     {earlier, "w2", Target{Online: true}, deadline - 1, ""},
		"at the deadline":         {earlier, "w2", Target{Online: true}, deadline, "ended"},
	} {
		s := NewState()
		c.target.Lane = "main"
		for _, e := range []Event{
			{Kind: Created, Created: &Plan{Lane: "main", Strategy: strategy, Changes: []Change{{Part: "web", Digest: "w2"}},
				Waves: []Wave{{Members: []ID{"a", "b"}}}}},
			{Kind: Granted, Target: "a", Before: c.before},
			{Kind: Breached, Reaction: Rollback},
		} {
			e.Rollout, e.At = "r1", 1
			s.Fold(e)
		}
		var got []string
		w := World{Targets: map[ID]Target{"a": c.target, "b": {Lane: "main", Online: true}},
			Has: func(ID, string) string { return c.has }}
		for _, e := range s.Decide(w, c.now) {
			if e.Kind != Unwanted {
				got = append(got, string(e.Kind))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
