package cli

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/render"
)

// keptHere is what an agent keeps the machine as that is worked on.
func (s *session) keptHere() *wire.Kept {
	if s.remote != nil {
		return s.remote.Hello().Kept
	}
	m, err := s.machine()
	if err != nil {
		return nil
	}
	return here.Kept(m)
}

// mayKeep refuses to apply what an agent would take back when it looks next: a list that is not the
// one which it has applied. What that list has anyway may be repaired.
func (s *session) mayKeep(ctx context.Context, x executor.Executor, p *plan.Plan) error {
	if s.keptToo || p.Empty() {
		return nil
	}
	k := s.keptHere()
	if k == nil || k.Generation == 0 {
		return nil
	}
	if st, err := x.Status(ctx); err != nil || st.State.List == p.List {
		return err
	}
	hint := "Push it, and the agent applies it by itself\n"
	if s.target != "" {
		hint += "Keep the target on a branch of its own for a while: fettle target pin " + s.target + " --branch BRANCH --for 2h\n"
	}
	return refuse(hint+"Do it all the same, until the agent takes it back: --kept-too",
		fmt.Sprintf("cannot apply this: %s is kept by its agent%s, which would take it back", s.keptName(), keptAt(k)))
}

// mayGoBack refuses a rollback through the hub that the agent would undo at once, and
// warns of one that was asked for at the machine itself. An agent that is frozen, or whose
// assignment is the commit gone back to, undoes nothing.
func (s *session) mayGoBack(p *plan.Plan) error {
	k := s.keptHere()
	if k == nil || k.Generation == 0 || k.Frozen != "" || p.Empty() || s.keptToo || p.Revision.Commit != "" && p.Revision.Commit == k.Commit {
		return nil
	}
	if s.at.hub == "" {
		fmt.Fprintf(s.app.Stderr, "%s is kept by its agent%s, which applies that again when it notices.\nTo prevent that, first: fettle target freeze, or systemctl stop fettle-agent.\n", s.keptName(), keptAt(k))
		return nil
	}
	name, hint := s.keptName(), ""
	if c := p.Revision.Commit; c != "" {
		hint = fmt.Sprintf("Pin it to that version, and its agent goes back by itself: fettle target pin %s --branch %s --for 1d\nIf it takes signed commits alone: add --permit to that\n", name, c)
	}
	return refuse(hint+fmt.Sprintf("Or keep its agent from changing it, then type this again: fettle target freeze %s\nDo it all the same, until the agent undoes it: --kept-too", name),
		fmt.Sprintf("cannot roll back to %s: %s is kept by its agent%s, which would undo it at once", render.RunName(p.To), name, keptAt(k)))
}

func (s *session) keptName() string {
	if s.target == "" {
		return "this machine"
	}
	return render.Escape(s.target)
}

// keptAt is the revision that an agent keeps a machine at, for the middle of a sentence.
func keptAt(k *wire.Kept) string {
	if k.Commit == "" {
		return ""
	}
	text := " at " + k.Commit[:min(len(k.Commit), 12)]
	if k.Branch != "" {
		text += " (" + render.Escape(k.Branch) + ")"
	}
	return text
}
