package host

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// agentAssignment returns the assignment of the agent of the machine that is worked on; nil if it has
// none.
func agentAssignment(s *cli.Session) *wire.Kept {
	if s.Remote != nil {
		return s.Remote.Hello().Kept
	}
	m, err := s.Machine()
	if err != nil {
		return nil
	}
	return here.Kept(m)
}

// checkAssignment refuses a list that differs from the list of the agent, because the agent would undo
// it at its next run. Repairs of the agent's own list are allowed.
func checkAssignment(ctx context.Context, s *cli.Session, x executor.Executor, p *plan.Plan) error {
	if s.OverrideAgent || p.Empty() {
		return nil
	}
	k := agentAssignment(s)
	if k == nil || k.Generation == 0 {
		return nil
	}
	if st, err := x.Status(ctx); err != nil || st.State.List == p.List {
		return err
	}
	hint := "Push the commit: the agent applies it automatically\n"
	if s.Target != "" {
		hint += "Keep the target on its own branch for some time: fettle target pin " + s.Target +
			" --branch BRANCH --expires 2h\n"
	}
	return cli.Refuse(hint+"Apply it anyway, until the agent undoes it: --override-agent",
		fmt.Sprintf("cannot apply this: an agent manages %s%s, and would undo the changes", keptName(s), keptAt(k)))
}

// checkRollback refuses a rollback through the hub that the agent would undo immediately. At the
// machine itself it only warns.
func checkRollback(s *cli.Session, p *plan.Plan) error {
	k := agentAssignment(s)
	if !k.Undoes(p) || s.OverrideAgent {
		return nil
	}
	if s.At.Hub == "" {
		fmt.Fprintf(s.App.Stderr,
			"An agent manages %s%s, and applies its assignment again when it detects the difference.\nTo prevent that, first: fettle target freeze, or systemctl stop fettle-agent.\n", keptName(
				s), keptAt(k))
		return nil
	}
	name, hint := keptName(s), ""
	if c := p.Revision.Commit; c != "" {
		hint = fmt.Sprintf("Pin it to that commit, and its agent returns to it: fettle target pin %s --branch %s --expires 1d\nIf the agent accepts only signed commits: add --permit\n", name, c)
	}
	return cli.Refuse(hint+fmt.Sprintf("Or freeze the target, then run this command again: fettle target freeze %s\nRoll back anyway, until the agent undoes it: --override-agent", name),
		fmt.Sprintf("cannot roll back to %s: an agent manages %s%s, and would undo it immediately", render.RunName(p.To),
			name, keptAt(k)))
}

func keptName(s *cli.Session) string {
	if s.Target == "" {
		return "this host"
	}
	return render.Escape(s.Target)
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
