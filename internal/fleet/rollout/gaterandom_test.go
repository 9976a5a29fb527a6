package rollout_test

import (
	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// randomGates returns the gates of a wave. Most waves have none.
func randomGates(rt *rapid.T) (out []rollout.Gate) {
	board := rollout.Gate{Name: "board", Type: rollout.ApprovalGate, Need: 2, Expires: 500, Groups: []string{"dba", "sre"}}
	author := rollout.Gate{Name: "author", Type: rollout.ApprovalGate, Need: 1, NotAuthor: true, Users: []string{"ann",
		"bob", "eve"}}
	errs := rollout.Gate{Name: "errors", Type: rollout.MetricGate, URL: "http://metrics", Count: 2, Interval: 5,
		FailureLimit: 1, ErrorLimit: 1}
	tests := rollout.Gate{Name: "tests", Type: rollout.WebhookGate, Count: 1}
	other := errs
	other.Name, other.Type, other.Count, other.MinSample = "other", rollout.CompareGate, 1, 1
	dry := errs
	dry.Name, dry.DryRun = "dry", true
	for _, g := range []rollout.Gate{board, author, errs, tests, other, dry} {
		g.Timeout = rapid.SampledFrom([]int64{0, 0, 100, 500}).Draw(rt, "timeout")
		if rapid.IntRange(0, 7).Draw(rt, g.Name) == 0 {
			out = append(out, g)
		}
	}
	return out
}

// groupsOf returns the groups of a user. Only zoe cannot approve.
func groupsOf(user string) []string {
	return map[string][]string{"ann": {"dba"}, "bob": {"web", "sre"}, "eve": {"sre", "dba"}, "zoe": {"web"}}[user]
}

// gated returns an open rollout whose wave has gates, or nil.
func (f *fleet) gated(rt *rapid.T) *rollout.Rollout {
	var all []*rollout.Rollout
	for _, r := range f.s.Open() {
		if len(r.Gates(r.Wave)) > 0 {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return rapid.SampledFrom(all).Draw(rt, "gated rollout")
}

// decideGates lets users and programs answer the gates of one rollout. Some answers have no meaning, and are refused.
func (f *fleet) decideGates(rt *rapid.T) {
	r := f.gated(rt)
	if r == nil {
		return
	}
	for range rapid.IntRange(1, 4).Draw(rt, "answers") {
		g := rapid.SampledFrom(r.Gates(r.Wave)).Draw(rt, "gate")
		c := rollout.Command{Rollout: r.ID, Gate: g.Name, Why: "a test",
			By: rapid.SampledFrom([]string{"ann", "bob", "eve", "zoe"}).Draw(rt, "user")}
		c.Groups = groupsOf(c.By)
		switch c.Action = rollout.ToJudge; {
		case g.Type != rollout.ApprovalGate:
			c.Verdict = rapid.SampledFrom([]rollout.Verdict{rollout.Pass, rollout.Pass, rollout.Pass, rollout.Fail,
				rollout.Unclear, rollout.Later, rollout.None}).Draw(rt, "verdict")
			// A command without a period counts in the present one.
			if c.Period = r.Period; rapid.IntRange(0, 3).Draw(rt, "stale") == 0 && r.Period > 1 {
				c.Period, c.Why = r.Period-1, "stale"
			}
		case rapid.IntRange(0, 9).Draw(rt, "reject") == 0:
			c.Action = rollout.ToReject
		default:
			c.Action = rollout.ToApprove
		}
		f.answer(c)
	}
}

// answer gives a command, and reports whether it was accepted.
func (f *fleet) answer(c rollout.Command) bool {
	log, err := f.s.Order(c, f.now)
	if (err == nil) != (len(log) > 0) {
		f.tell("%v: %v, %v", c, log, err)
	}
	f.log = append(f.log, log...)
	return err == nil
}

// consents gives each open rollout everything for which it waits.
func (f *fleet) consents() {
	for _, r := range f.s.Open() {
		for _, g := range r.Gates(r.Wave) {
			for _, user := range []string{"ann", "bob", "eve"} {
				f.answer(rollout.Command{Action: rollout.ToApprove, Rollout: r.ID, Gate: g.Name, By: user,
					Groups: groupsOf(user)})
			}
			f.answer(rollout.Command{Action: rollout.ToJudge, Rollout: r.ID, Gate: g.Name, Verdict: rollout.Pass,
				Period: r.Period})
		}
	}
}
