package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The actions about gates. They need the name of a gate, or a wave with one possible gate.
const (
	ToApprove Action = "approve" // consent to the end of the wave
	ToReject  Action = "reject"  // the change is bad
	ToJudge   Action = "judge"   // a program reports the verdict of a gate
)

// OfGate reports whether a command is about a gate.
func (a Action) OfGate() bool { return a == ToApprove || a == ToReject || a == ToJudge }

// orderGate returns the event of a command about a gate of the current wave.
func (r *Rollout) orderGate(c Command) (e Event, err error) {
	if _, err := only(r, e, Active, OnHold); err != nil {
		return e, err
	}
	g, err := r.choose(c)
	if err != nil {
		return e, err
	}
	e = Event{Wave: r.Wave, Gate: g.Name, Period: r.Period}
	switch c.Action {
	case ToJudge:
		e.Kind, e.Verdict = Measured, c.Verdict
		return e, r.mayJudge(c)
	case ToReject:
		e.Kind = Rejected
		return e, mayApprove(g, c)
	}
	e.Kind = Approved
	if err := mayApprove(g, c); err != nil {
		return e, err
	}
	return e, r.counts(g, c)
}

// choose returns the gate of a command.
func (r *Rollout) choose(c Command) (Gate, error) {
	possible := func(g Gate) bool {
		return (g.Type == ApprovalGate) == (c.Action != ToJudge) && (c.Gate == "" || c.Gate == g.Name) &&
			(c.Period > 0 || c.Action != ToJudge || g.Type == WebhookGate)
	}
	var found, all []string
	var one Gate
	for _, g := range r.Gates(r.Wave) {
		all = append(all, g.Name)
		if possible(g) {
			one, found = g, append(found, g.Name)
		}
	}
	wave := r.Plan.Waves[r.Wave].Name
	switch {
	case len(found) == 1:
		return one, nil
	case len(found) > 1:
		return one, fmt.Errorf("the wave %s has several gates, so name one of %s", wave, strings.Join(found, ", "))
	case len(all) == 0:
		return one, fmt.Errorf("its current wave %s has no gates", wave)
	case c.Gate != "" && !slices.Contains(all, c.Gate):
		return one, fmt.Errorf("its current wave %s has no gate %q, but %s", wave, c.Gate, strings.Join(all, ", "))
	}
	return one, fmt.Errorf(
		"users approve approval gates, and programs judge webhook gates: its current wave %s has the gates %s", wave,
		strings.Join(all, ", "))
}

// mayApprove returns an error if a user has no voice at a gate. Only the groups at the time of the command count:
// the approval of a user who leaves a group later remains valid.
func mayApprove(g Gate, c Command) error {
	member := func(group string) bool { return slices.Contains(c.Groups, group) }
	if c.By != "" && (len(g.Users)+len(g.Groups) == 0 || slices.Contains(g.Users, c.By) || slices.ContainsFunc(g.Groups,
		member)) {
		return nil
	}
	return fmt.Errorf("the gate %s accepts only %s", g.Name, strings.Join(g.approvers(), ", "))
}

// counts returns an error if an approval would not count now.
func (r *Rollout) counts(g Gate, c Command) error {
	switch s := r.GateState(r.Wave, g.Name); {
	case g.NotAuthor && r.Plan.wrote(c.By):
		return fmt.Errorf("the author of a change does not count at the gate %s", g.Name)
	case r.Settled == 0:
		return fmt.Errorf("the wave %s does not meet its other conditions yet", r.Plan.Waves[r.Wave].Name)
	case slices.ContainsFunc(s.Approvals, func(a Approval) bool { return a.By == c.By }):
		return fmt.Errorf("%s has approved it already, and each user counts once", c.By)
	}
	return nil
}

// mayJudge returns an error if a verdict would not count now. A failure counts in the whole wave.
func (r *Rollout) mayJudge(c Command) error {
	switch {
	case !c.Verdict.known(c.Period > 0):
		return fmt.Errorf("there is no verdict %q, use pass, fail or error", c.Verdict)
	case c.Period > 0 && c.Period != r.Period:
		return errors.New("the verdict is about an earlier bake time")
	case r.Settled == 0 && c.Verdict != Fail:
		return fmt.Errorf("the wave %s does not meet its other conditions yet", r.Plan.Waves[r.Wave].Name)
	}
	return nil
}

// wrote reports whether a user is the author of the change, or has a name by which git knows the author.
func (p Plan) wrote(user string) bool {
	if user == "" || user == p.Author {
		return user != ""
	}
	return Wrote(p.Git, user)
}

// Wrote reports whether a user of the hub has the name of an author of git, which is NAME <MAIL>: the name, the mail
// address, or the part of it before the @.
func Wrote(git, user string) bool {
	return slices.ContainsFunc(AuthorNames(git), func(name string) bool { return strings.EqualFold(name, user) })
}

// AuthorNames returns the names of an author of git that a user of the hub can have.
func AuthorNames(git string) (out []string) {
	name, rest, _ := strings.Cut(git, "<")
	mail, _, _ := strings.Cut(rest, ">")
	local, _, _ := strings.Cut(mail, "@")
	for _, s := range []string{strings.TrimSpace(name), mail, local} {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
