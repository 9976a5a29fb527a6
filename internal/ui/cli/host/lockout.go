package host

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// defaultConfirm is how long a run that may lock an operator out waits for its
// confirmation where the repository says nothing.
const defaultConfirm = 60 * time.Second

// lockOut arms a run that may lock an operator out, unless the command line or the repository has
// decided. No user logs in to a machine below another root.
func lockOut(s *cli.Session, f RunFlags, o executor.Options, p catalog.Policy) (executor.Options, error) {
	m, err := s.Machine()
	if err != nil || f.armed || p.LockOut == "ignore" || m.Root != "/" {
		return o, err
	}
	o.LockOut, o.ChecksConfirm = defaultConfirm, p.LockOut == "checks"
	if d, ok := catalog.ConfirmTime(p.ConfirmWithin); ok {
		o.LockOut = d
	}
	return o, nil
}

// arming is the reason why a run is armed automatically, and the way to keep it.
type arming rundoc.Arming

// armingOf returns nil for a plan whose run is not armed, or is armed by the user.
func armingOf(p *plan.Plan, o executor.Options) *arming {
	if o.ConfirmWithin > 0 || o.For(p).ConfirmWithin == 0 {
		return nil
	}
	return &arming{Changes: plan.LockOut(p), Within: int64(o.LockOut), ByChecks: o.ChecksConfirm &&
		p.Count()[plan.Verify] > 0}
}

// text is the message for users, "" for nil. It begins with so; checks adds that the checks confirm
// the run.
func (a *arming) text(so string, checks bool) string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("This may lock you out: it changes %s.\n", some(a.Changes))
	if a.ByChecks {
		return text + so + " is kept only if its checks pass. Otherwise it is undone at once."
	}
	text += fmt.Sprintf("%s undoes itself unless you confirm it within %s; --confirm-within sets another time.", so,
		time.Duration(a.Within))
	if checks {
		text += "\nIt has no checks that could confirm it."
	}
	return text
}

// warningOf returns the warning about a run that is armed automatically, "" for any other run.
func warningOf(s *cli.Session, p *plan.Plan, o executor.Options) string {
	a := armingOf(p, o)
	if a == nil || a.ByChecks || s.Remote == nil {
		return a.text("So it", o.ChecksConfirm)
	}
	return fmt.Sprintf("This may lock you out: it changes %s.\nSo it undoes itself unless a new connection reaches %s within %s after its end.", some(
		a.Changes), s.At, time.Duration(a.Within))
}

// backMayLockOut warns of a rollback that may lock an operator out.
func backMayLockOut(p *plan.Plan) string {
	if out := plan.LockOut(p); len(out) > 0 {
		return fmt.Sprintf("This may lock you out: it changes %s.\nA rollback does not undo itself, so keep a session open until you have logged in again.", some(
			out))
	}
	return ""
}

// some names the first of the addresses, and how many more there are.
func some(list []addr.Addr) string {
	const named = 3
	var out []string
	for i, a := range list {
		if i == named {
			return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), len(list)-named)
		}
		out = append(out, render.Escape(a.String()))
	}
	return strings.Join(out, ", ")
}
