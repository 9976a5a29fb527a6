package wire

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
)

func (v *server) drift(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in executor.DriftOptions
	if err := c.params(&in); err != nil {
		return nil, err
	}
	limited := v.ReadOnly && !c.signed
	in.Diffs = in.Diffs && !limited
	if limited && in.Guards == executor.HostGuards {
		return nil, v.readOnly(c.Method)
	}
	p, err := x.Drift(ctx, in)
	return planAnswer{p}, err
}

func (v *server) confirm(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in asked
	if err := c.params(&in); err != nil {
		return nil, err
	}
	if v.Proof != nil {
		if err := v.Proof(ctx); err != nil {
			return nil, fmt.Errorf("cannot confirm the run: %w", err)
		}
	}
	run, err := x.Confirm(ctx, v.options(c, in.Options))
	return &ran{Run: run}, err
}

func (v *server) freeze(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in frozen
	if err := c.params(&in); err != nil {
		return nil, err
	}
	return nil, x.Freeze(ctx, in.Frozen, v.options(c, in.Options))
}

func (v *server) unfreeze(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in asked
	if err := c.params(&in); err != nil {
		return nil, err
	}
	return nil, x.Unfreeze(ctx, v.options(c, in.Options))
}

func (v *server) collect(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in collecting
	if err := c.params(&in); err != nil {
		return nil, err
	}
	return x.Collect(ctx, in.Keep, v.options(c, in.Options))
}

func (v *server) show(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var run int
	if err := c.params(&run); err != nil {
		return nil, err
	}
	return x.Show(ctx, run)
}

func (v *server) runDetails(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in detailed
	if err := c.params(&in); err != nil {
		return nil, err
	}
	return executor.DetailsOf(ctx, x, in.Run, in.Diffs && !v.ReadOnly)
}

func (v *server) runOf(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var commit string
	if err := c.params(&commit); err != nil {
		return nil, err
	}
	run, ok, err := x.RunOf(ctx, commit)
	return ran{run, ok}, err
}

func (v *server) list(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var run int
	if err := c.params(&run); err != nil {
		return nil, err
	}
	l, err := x.List(ctx, run)
	if err != nil {
		return nil, err
	}
	text, err := encodeList(l)
	return listed{text}, err
}
