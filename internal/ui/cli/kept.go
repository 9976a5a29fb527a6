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

// tellsKept warns that an agent goes forward again what is taken back.
func (s *session) tellsKept() {
	if k := s.keptHere(); k != nil && k.Generation > 0 {
		fmt.Fprintf(s.app.Stderr, "%s is kept by its agent%s, which applies that again when it notices.\nTo keep it back: fettle freeze when this is done, or fettle target pin.\n", s.keptName(), keptAt(k))
	}
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
