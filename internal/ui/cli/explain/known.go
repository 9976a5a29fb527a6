package explain

import (
	"context"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// known is the data from which explain explains.
type known struct {
	status executor.Status
	runs   map[int]journal.RunInfo
	states []executor.StateRef // of the applied list
	wanted *executor.Request   // nil where there is no repository, or it does not compile
	waits  []executor.Deferred // states of the repository that wait for a value of a run
	source *workspace.Source   // nil where there is no repository
}

func gather(ctx context.Context, s *cli.Session, x executor.Executor) (*known, error) {
	k := &known{runs: map[int]journal.RunInfo{}}
	var err error
	if k.status, err = x.Status(ctx); err != nil {
		return nil, err
	}
	runs, err := x.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		k.runs[r.Header.Run] = r
	}
	if run := k.status.State.Run; run > 0 {
		if shown, err := x.Show(ctx, run); err == nil {
			k.states = shown.States
		}
	}
	gatherWanted(ctx, s, x, k)
	return k, nil
}

// gatherWanted adds the states of the repository as far as they can be compiled. The applied state is
// explained without them, so errors of the repository stop nothing.
func gatherWanted(ctx context.Context, s *cli.Session, x executor.Executor, k *known) {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return
	}
	k.source = src
	target, err := s.ChooseTarget(src)
	if err != nil {
		return
	}
	in, err := s.Input(ctx, src.Tree, target)
	if err != nil {
		return
	}
	req, err := s.ListOf(src, in)
	if err != nil {
		return
	}
	if made := informed(ctx, x, req); made.Fill() == nil {
		k.wanted, k.waits = made, made.Deferred
	}
}

// informed returns a request with the outputs of commands that the machine has recorded. An executor
// needs them to plan.
func informed(ctx context.Context, x executor.Executor, req executor.Request) *executor.Request {
	last := &req
	if req.Next == nil {
		return last
	}
	asking := req
	var watch func(next func(executor.Known) (executor.Request, error)) func(executor.Known) (executor.Request, error)
	watch = func(next func(executor.Known) (executor.Request, error)) func(executor.Known) (executor.Request, error) {
		if next == nil {
			return nil
		}
		return func(known executor.Known) (executor.Request, error) {
			r, err := next(known)
			if err == nil {
				made := r
				last, r.Next = &made, watch(r.Next)
			}
			return r, err
		}
	}
	asking.Next, asking.Guards = watch(req.Next), executor.NoGuards
	_, _ = x.Plan(ctx, asking) // the outputs that were read count, even if the plan fails
	return last
}
