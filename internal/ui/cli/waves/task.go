package waves

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// causeOf describes the content for users.
func causeOf(r repo.Revision) string {
	text := "the files as they are"
	if r.Commit != "" {
		text = "commit " + r.Commit[:min(12, len(r.Commit))]
	}
	if r.Dirty {
		text += " with uncommitted changes"
	}
	if r.Subject != "" {
		text += ": " + r.Subject
	}
	return text
}

// contentOf returns a digest of the content that the command applies: the revision and the variables of the command.
func contentOf(set *cli.TargetSet) string {
	given := set.Session.GivenVariables()
	if len(given) == 0 {
		return set.Source.Rev.Digest
	}
	h := sha256.New()
	for _, text := range append([]string{set.Source.Rev.Digest}, given...) {
		_, _ = io.WriteString(h, text+"\x00")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// do performs one task on its target.
func (p *performed) do(ctx context.Context, t push.Task) (res push.Result) {
	out := p.cr.Visit(ctx, t.Target, func(ctx context.Context, m *cli.Member, x executor.Executor) (o round.Outcome) {
		o, res = p.operation(ctx, m, x, t)
		return o
	})
	if out.Err != nil && !errors.Is(out.Err, cli.ErrChanges) {
		res.Reached, res.OK, res.Why = out.Status != fanout.Unreachable && ctx.Err() == nil, false, out.Line
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case !res.OK && res.Reached && t.Operation != push.Return:
		p.failed[t.Target] = out
	case t.Operation != push.Check || !res.OK:
		p.last[t.Target] = out
	}
	return res
}

func (p *performed) operation(ctx context.Context, m *cli.Member, x executor.Executor, t push.Task) (round.Outcome,
	push.Result) {
	ok := push.Result{Reached: true, OK: true}
	switch t.Operation {
	case push.Plan:
		return p.planOne(ctx, m, x)
	case push.Apply:
		return p.Apply(ctx, m, x), ok
	case push.Return:
		return p.goBack(ctx, x, t.Base), ok
	}
	return p.Check(ctx, m, x), ok
}

// planOne plans a target. A target takes part if its list is new, even if only its checks differ.
func (p *performed) planOne(ctx context.Context, m *cli.Member, x executor.Executor) (round.Outcome, push.Result) {
	made, o := p.Plan(ctx, m, x)
	if made == nil {
		return o, push.Result{}
	}
	run, same, err := Applied(ctx, x, made.List)
	if err != nil {
		return cli.Failed(err), push.Result{}
	}
	res := push.Result{Reached: true, OK: true, Run: run, Changes: o.Err != nil || !same}
	if res.Zone, err = m.TimeZoneOfTarget(ctx); err != nil {
		return cli.Failed(err), push.Result{}
	}
	if res.Changes && run > 0 && !p.IgnoreWindows {
		p.showClosed(m, res.Zone)
	}
	o.Err = nil
	return o, res
}

// Applied returns the last run of a target, and reports whether the target has the whole list with a digest.
func Applied(ctx context.Context, x executor.Executor, list string) (run int, same bool, err error) {
	st, err := x.Status(ctx)
	if err != nil || st.State.Run == 0 {
		return 0, false, err
	}
	has, err := x.List(ctx, st.State.Run)
	return st.State.Run, st.State.Complete && has.Digest() == list, err
}

// goBack rolls a target back to a run. If another run followed, it refuses.
func (p *performed) goBack(ctx context.Context, x executor.Executor, base int) round.Outcome {
	runs, err := x.Runs(ctx)
	if err != nil {
		return cli.Failed(err)
	}
	for _, r := range runs {
		if h := r.Header; h.Run > base && p.foreign(h, base) {
			return cli.Failed(fmt.Errorf("cannot roll back to run %d: run %d is not of this rollout", base, h.Run))
		}
	}
	return p.Return(ctx, x, base)
}

// foreign reports whether a run is neither an apply of the content of the rollout nor a rollback of it.
func (p *performed) foreign(h journal.Header, base int) bool {
	if h.Operation == journal.OpRollback {
		return h.To != base
	}
	return h.Revision.Digest != p.cr.Source.Rev.Digest
}
