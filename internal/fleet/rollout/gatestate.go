package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// fold applies an event of the gate.
func (s *GateState) fold(e Event) {
	switch e.Kind {
	case Approved:
		s.Approvals = append(s.without(e.By), Approval{e.By, e.At})
	case Expired:
		s.Approvals = s.without(e.By)
	case Rejected:
		s.Rejected, s.Why = e.By, e.Why
	case Paused:
		s.Late = true
	case Measured:
		s.Last, s.At, s.Why = e.Verdict, e.At, e.Why
		switch e.Verdict {
		case Pass:
			s.Passes, s.Errors = s.Passes+1, 0
		case Fail:
			s.Failures, s.Errors = s.Failures+1, 0
		case Unclear:
			s.Errors++
		case None:
			s.Errors = 0
		}
	}
}

// without returns the approvals of other users.
func (s *GateState) without(by string) (out []Approval) {
	for _, a := range s.Approvals {
		if a.By != by {
			out = append(out, a)
		}
	}
	return out
}

// Gates returns the gates of a wave.
func (r *Rollout) Gates(wave int) []Gate {
	if wave >= len(r.Plan.Waves) {
		return nil
	}
	return r.Plan.Waves[wave].Gates
}

// gate returns a gate of the current wave.
func (r *Rollout) gate(name string) (g Gate, ok bool) {
	all := r.Gates(r.Wave)
	i := slices.IndexFunc(all, func(g Gate) bool { return g.Name == name })
	if i < 0 {
		return g, false
	}
	return all[i], true
}

// GateState returns the state of a gate of a wave.
func (r *Rollout) GateState(wave int, gate string) GateState {
	if s := r.Verdicts[wave][gate]; s != nil {
		return *s
	}
	return GateState{}
}

// Need returns the number of users who must approve a gate. One user more must approve if the author must not count
// and is not known: at most one of them is the author.
func (r *Rollout) Need(g Gate) int {
	if g.NotAuthor && r.Plan.Author == "" {
		return g.Need + 1
	}
	return g.Need
}

// Waits returns what the gates of the current wave wait for, or "".
func (r *Rollout) Waits() string {
	var out []string
	for _, g := range r.Gates(r.Wave) {
		open := r.Settled > 0 && !r.Phase.Final() && r.Phase != RollingBack
		if open && !g.DryRun && !r.Void(r.Wave, g) && !g.Passed(r.GateState(r.Wave, g.Name), r.Need(g)) {
			out = append(out, r.waitsFor(g))
		}
	}
	return strings.Join(out, ", and ")
}

func (r *Rollout) waitsFor(g Gate) string {
	s := r.GateState(r.Wave, g.Name)
	last := ""
	if s.Why != "" {
		last = ": " + s.Why
	}
	switch {
	case g.Type == ApprovalGate:
		need := r.Need(g)
		who := ""
		if len(g.Users)+len(g.Groups) > 0 {
			who = ": " + strings.Join(g.approvers(), ", ")
		}
		return fmt.Sprintf("waits for the approval of %d of %d users (%s%s)", need-len(s.Approvals), need, g.Name, who)
	case g.Type == MetricGate:
		return fmt.Sprintf("waits for %d of %d good values of the metric %s%s", max(0, g.Count-s.Passes), g.Count,
			g.Name, last)
	case g.Type == CompareGate:
		return fmt.Sprintf("waits for %d of %d good comparisons of %s%s", max(0, g.Count-s.Passes), g.Count, g.Name, last)
	}
	return fmt.Sprintf("waits for the verdict of %s%s", g.Name, last)
}

// Unapproved returns the names of the gates of the current wave that wait for users.
func (r *Rollout) Unapproved() (out []string) {
	for _, g := range r.Gates(r.Wave) {
		if g.Type == ApprovalGate && !g.DryRun && r.Settled > 0 && !g.Passed(r.GateState(r.Wave, g.Name), r.Need(g)) {
			out = append(out, g.Name)
		}
	}
	return out
}

// verdict applies an event of a gate. Events of an earlier wave or bake time do not count.
func (r *Rollout) verdict(e Event) {
	if _, ok := r.gate(e.Gate); !ok || e.Wave != r.Wave || e.Period != r.Period {
		return
	}
	if r.Verdicts == nil {
		r.Verdicts = map[int]map[string]*GateState{}
	}
	if r.Verdicts[r.Wave] == nil {
		r.Verdicts[r.Wave] = map[string]*GateState{}
	}
	s := r.GateState(r.Wave, e.Gate)
	g, _ := r.gate(e.Gate)
	passed := g.Passed(s, r.Need(g))
	if s.fold(e); passed && !g.Passed(s, r.Need(g)) {
		s.Lapsed = e.At
	}
	r.Verdicts[r.Wave][e.Gate] = &s
}

// forgive discards the verdicts of gates that failed or had no result. They must pass again. The hub
// queries a webhook again that was late.
func (r *Rollout) forgive() {
	for _, g := range r.Gates(r.Wave) {
		s := r.GateState(r.Wave, g.Name)
		if g.Failed(s) || g.unclear(s) || s.Late && s.Last == Later {
			delete(r.Verdicts[r.Wave], g.Name)
		} else if s.Late {
			s.Late = false
			r.Verdicts[r.Wave][g.Name] = &s
		}
	}
}
