package scope

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// Evaluate returns the verdicts of all declared scopes, in the order of declaration.
func Evaluate(in Input) []Result {
	e := &evaluation{Input: in, kinds: map[string]query.ScopeKind{}, scopes: map[string]query.Scope{},
		done: map[string]*Result{}, open: map[string]bool{}}
	for _, k := range in.Declared.Kinds {
		e.kinds[k.Name] = k
	}
	for _, s := range in.Declared.Scopes {
		e.scopes[s.ID()] = s
	}
	e.findOverlaps()
	out := make([]Result, 0, len(in.Declared.Scopes))
	for _, s := range in.Declared.Scopes {
		out = append(out, *e.scope(s.ID()))
	}
	return out
}

// Best returns the verdicts if all targets that are not connected were connected, and their tests succeeded. A verdict
// that is the same for Evaluate and Best does not depend on these targets.
func Best(in Input) []Result {
	targets := make(map[string]Target, len(in.Targets))
	for name, t := range in.Targets {
		if !t.Connected {
			t.Connected, t.awaited = true, true
		}
		targets[name] = t
	}
	in.Targets = targets
	return Evaluate(in)
}

// evaluation is the work of Evaluate.
type evaluation struct {
	Input
	kinds  map[string]query.ScopeKind
	scopes map[string]query.Scope
	done   map[string]*Result
	open   map[string]bool // scopes whose members are being evaluated
	// overlaps are the targets of a scope that another scope of the kind has too, with the name of that scope.
	overlaps map[string][]overlap
}

type overlap struct{ target, other string }

// findOverlaps finds targets in several scopes of a kind that does not permit it.
func (e *evaluation) findOverlaps() {
	e.overlaps = map[string][]overlap{}
	first := map[[2]string]string{} // the scope, by kind and target
	for _, s := range e.Declared.Scopes {
		if k, ok := e.kinds[s.Kind]; !ok || k.Overlap {
			continue
		}
		for _, name := range s.Targets {
			if e.Targets[name].ID == "" || e.Targets[name].Absent != "" {
				continue
			}
			key := [2]string{s.Kind, name}
			other, taken := first[key]
			if !taken {
				first[key] = s.ID()
				continue
			}
			e.overlaps[s.ID()] = append(e.overlaps[s.ID()], overlap{name, other})
			e.overlaps[other] = append(e.overlaps[other], overlap{name, s.ID()})
		}
	}
}

// scope evaluates one scope, once. A scope that contains itself is unknown.
func (e *evaluation) scope(id string) *Result {
	if r, ok := e.done[id]; ok {
		return r
	}
	s, ok := e.scopes[id]
	r := &Result{Scope: id, Verdict: Ready}
	switch kind, known := e.kinds[s.Kind]; {
	case !ok:
		r.add(Unknown, OfScope, id, "the repository does not declare the scope "+id, nil)
	case e.open[id]:
		r.add(Unknown, OfScope, id, "the scope contains itself", nil)
		return r // the evaluation that is open stores the result
	case !known:
		r.add(Unknown, OfKind, s.Kind, "the repository does not declare the kind "+s.Kind, nil)
	default:
		e.open[id] = true
		e.parts(r, s, kind)
		delete(e.open, id)
	}
	slices.SortStableFunc(r.Reasons, func(a, b Reason) int { return cmp.Compare(b.Verdict.rank(), a.Verdict.rank()) })
	e.done[id] = r
	return r
}

// add adds a reason and makes the verdict worse.
func (r *Result) add(v Verdict, of Subject, name, text string, targets []string) {
	r.Verdict = Worse(r.Verdict, v)
	r.Reasons = append(r.Reasons, Reason{v, of, name, text, targets[:min(len(targets), MaxShown)]})
}

func (e *evaluation) parts(r *Result, s query.Scope, kind query.ScopeKind) {
	nested := e.members(r, s)
	for _, o := range e.overlaps[s.ID()][:min(len(e.overlaps[s.ID()]), MaxShown)] {
		r.add(Failed, OfMembers, "", fmt.Sprintf("%s belongs to %s too, and scopes of the kind %s must not overlap",
			o.target, o.other, kind.Name), []string{o.target})
	}
	if r.Counted+nested == 0 && !kind.ByHubs() {
		e.empty(r, s, kind)
		return
	}
	e.minimum(r, s, nested)
	for _, c := range s.Checks {
		check, bad := evaluateCheck(e.Input, s, c)
		r.Checks = append(r.Checks, check)
		if check.Verdict != Ready {
			r.add(check.Verdict, OfCheck, c.Name, check.explain(), bad)
		}
	}
	for _, t := range s.Tasks {
		e.task(r, TaskKey{s.ID(), t.Name})
	}
}

// members counts the members. It returns the number of scopes that count as members.
func (e *evaluation) members(r *Result, s query.Scope) (nested int) {
	r.Members = len(s.Targets)
	for _, name := range s.Targets {
		t := e.Targets[name]
		if t.ID == "" || t.Absent != "" {
			continue
		}
		r.Counted++
		if t.Connected {
			r.Connected++
		}
	}
	for _, id := range s.Scopes {
		m := e.scope(id)
		if m.Verdict == Empty {
			continue
		}
		nested++
		if m.Verdict != Ready {
			r.add(m.Verdict, OfScope, id, fmt.Sprintf("the scope %s is %s", id, m.Verdict), nil)
		}
	}
	return nested
}

// empty sets the verdict of a scope without members that count.
func (e *evaluation) empty(r *Result, s query.Scope, kind query.ScopeKind) {
	verdict, text := Empty, "the scope selects no targets"
	if kind.Empty == string(Failed) {
		verdict = Failed
	}
	switch {
	case len(s.Scopes) > 0:
		text = "all scopes that are members are empty"
	case len(s.Targets) > 0:
		text = fmt.Sprintf("none of the %s counts", number(len(s.Targets), "member"))
	}
	r.add(verdict, OfMembers, "", text, nil)
}

func (e *evaluation) minimum(r *Result, s query.Scope, nested int) {
	least, have := s.MinMembers, r.Counted+nested
	switch {
	case have < least:
		r.add(Pending, OfMembers, "", fmt.Sprintf("%d of at least %s %s", have, number(least, "member"),
			plural(have, "counts", "count")), nil)
	case r.Connected+nested < least:
		var offline []string
		for _, name := range s.Targets {
			if t := e.Targets[name]; t.ID != "" && t.Absent == "" && !t.Connected {
				offline = append(offline, name)
			}
		}
		r.add(Failed, OfMembers, "", fmt.Sprintf("%d of at least %s %s connected", r.Connected+nested,
			number(least, "member"), plural(r.Connected+nested, "is", "are")), offline)
	}
}

func (e *evaluation) task(r *Result, key TaskKey) {
	switch phase := cmp.Or(e.Tasks[key], TaskWaiting); phase {
	case TaskDone:
	case TaskFailed:
		r.add(Failed, OfTask, key.Task, "the task "+key.Task+" failed", nil)
	case TaskUnknown:
		r.add(Failed, OfTask, key.Task, "the result of the task "+key.Task+" is unknown", nil)
	case TaskClaimed, TaskRunning:
		r.add(Pending, OfTask, key.Task, "the task "+key.Task+" is not finished", nil)
	default:
		r.add(Pending, OfTask, key.Task, "the task "+key.Task+" waits", nil)
	}
}

// evaluateCheck returns the verdict of a check, and the targets that explain it.
func evaluateCheck(in Input, s query.Scope, c query.ScopeCheck) (out Check, bad []string) {
	out.Name, out.Hub = c.Name, c.Hub
	var failed, pending, unsure []string
	for _, t := range Testers(in, s, c) {
		if t.Hub {
			out.Why = t.Text
		}
		switch {
		case t.Absent != "":
		case t.Outcome == fleet.CheckOK:
			out.OK++
		case t.Outcome == fleet.CheckFailed:
			failed = append(failed, t.Name)
		case t.Outcome == fleet.CheckPending:
			pending = append(pending, t.Name)
		default:
			unsure = append(unsure, t.Name)
		}
	}
	out.Failed, out.Pending, out.Unsure = len(failed), len(pending), len(unsure)
	out.Required = Required(c.Quorum, out.Counted())
	switch {
	case out.Counted() == 0:
		out.Verdict = Unknown
	case out.OK >= out.Required:
		out.Verdict = Ready
	case out.Counted()-out.Failed < out.Required:
		out.Verdict, bad = Failed, failed
	case out.OK+out.Pending >= out.Required:
		out.Verdict, bad = Pending, pending
	default:
		out.Verdict, bad = Unknown, unsure
	}
	if c.Hub {
		bad = nil // reasons name only targets
	}
	return out, bad
}

// explain returns the reason of a verdict other than ready.
func (c Check) explain() string {
	if c.Counted() == 0 {
		return "no target that counts tests the check " + c.Name
	}
	if c.Hub {
		return c.explainHub()
	}
	text := fmt.Sprintf("the check %s succeeds on %d of %s, %d %s required", c.Name, c.OK,
		number(c.Counted(), "target"), c.Required, plural(c.Required, "is", "are"))
	for _, n := range []struct {
		count int
		what  string
	}{{c.Failed, "failed"}, {c.Pending, "pending"}, {c.Unsure, "unknown"}} {
		if n.count > 0 {
			text += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	return text
}

// explainHub returns the reason of a verdict other than ready of a check that the leading hub tests.
func (c Check) explainHub() string {
	text := "the result of the check " + c.Name + " of the leading hub is unknown"
	switch c.Verdict {
	case Failed:
		text = "the check " + c.Name + " fails on the leading hub"
	case Pending:
		text = "the check " + c.Name + " has not succeeded on the leading hub yet"
	}
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

// Required returns the number of testers that a quorum requires: all, a number, or a percentage, rounded up. A quorum
// that is none of these requires all.
func Required(quorum string, counted int) int {
	digits, share := strings.CutSuffix(quorum, "%")
	n, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case err != nil || n == 0 || share && n > 100:
		return max(1, counted)
	case share:
		return max(1, (counted*int(n)+99)/100)
	}
	return int(n)
}

func number(n int, what string) string { return fmt.Sprintf("%d %s", n, plural(n, what, what+"s")) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
