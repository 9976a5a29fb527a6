package host

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/savedplan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// planAndSave plans on every target, and saves those plans of which there are any.
func planAndSave(s *cli.Session, c *cobra.Command, f PlanFlags) error {
	directory, err := savedplan.NewDirectory(f.Out, s.App.Version)
	if err != nil {
		return err
	}
	defer directory.Drop()
	left, err := planEach(s, c, f, directory.Save)
	path, saved, kept := directory.Keep()
	if kept != nil {
		return kept
	}
	if s.JSON || saved == 0 {
		return err
	}
	s.Printf("\nSaved %s. To apply exactly these plans: fettle apply %s\n", render.Count(saved, "plan"), path)
	if left > 0 {
		s.Printf("Without a saved plan, and therefore unchanged: %s\n", render.Count(left, "target"))
	}
	return err
}

// applySavedMany applies exactly the plans of a directory, each on its target, or only on the targets
// that -t selects.
func applySavedMany(ctx context.Context, s *cli.Session, f applyFlags, path string) error {
	o, err := f.options(s)
	if err != nil {
		return err
	}
	saved, err := savedplan.OpenAll(path)
	if err != nil {
		return err
	}
	defer saved.Close()
	if len(s.Words) == 0 {
		s.Words = saved.Selection()
	}
	s.Target = ""
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	if err := saved.Check(cr.Names); err != nil {
		return err
	}
	o.Exact = true
	return applyPlans(ctx, cr, f.RunFlags, o, func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen,
		error) {
		was := saved.Of(m.Target)
		if was.Far && m.Remote == nil && !cli.IsThisHost(s.Printer, m.Target) {
			return nil, round.Unreachable(cli.NoConnection(m.Target))
		}
		req := was.Request
		req.Diffs, req.Verify = f.Wants(cr.Session.Printer), req.Verify || f.Verify
		p, err := x.Plan(ctx, req)
		if err == nil && p.Digest() != was.Digest {
			err = stale()
		}
		return &seen{request: req, plan: p}, err
	})
}

func applySaved(ctx context.Context, s *cli.Session, f applyFlags, o executor.Options, file string) error {
	saved, err := savedplan.Load(file)
	if err != nil {
		return err
	}
	defer saved.Close()
	req := saved.Request
	if s.Target != "" && s.Target != req.Target {
		return cli.Refuse("Create a plan for it: fettle plan -t "+s.Target+" -o "+file,
			fmt.Sprintf("cannot apply %q: it is a plan for %q", file, req.Target))
	}
	if saved.Far {
		if err := reconnect(ctx, s, req.Target); err != nil {
			return err
		}
	}
	req.Diffs, req.Verify, o.Exact = f.Wants(s.Printer), req.Verify || f.Verify, true
	req.Adopt = req.Adopt || s.Adopt
	return ApplyRequest(ctx, s, req, saved.Digest, f.RunFlags, o)
}

// reconnect reaches the other machine for which a plan was saved. It is never done on
// this one in its place, which may well look alike.
func reconnect(ctx context.Context, s *cli.Session, target string) error {
	s.Target = target
	r, err := s.Connected(ctx, target)
	if err == nil && r.Here && !cli.IsThisHost(s.Printer, target) {
		err = cli.Refuse("Specify how to reach it: -C DIR for its repository, or --ssh HOST",
			fmt.Sprintf("cannot reach %q: the plan was saved for a different host", target))
	}
	return err
}
