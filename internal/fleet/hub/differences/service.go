package differences

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// Service answers requests for differences. It is safe for concurrent use.
type Service struct {
	Config
	turn chan struct{} // has a value while a request computes
	// The newest results belong to the request that has the turn.
	commits kept[compiled]
	answers kept[document.CommitDifferences]
}

// New returns a service.
func New(c Config) *Service {
	if c.Timeout == 0 {
		c.Timeout = 25 * time.Second
	}
	return &Service{Config: c, turn: make(chan struct{}, 1)}
}

// HandleRoutes registers the handler of differences.
func (s *Service) HandleRoutes(t *api.Table) {
	api.HandleGetAt(t, route.CommitDifferences(), s.CommitDifferences)
}

// CommitDifferences compares all active targets with a commit.
func (s *Service) CommitDifferences(ctx context.Context, at route.CommitName) (document.CommitDifferences, error) {
	none := document.CommitDifferences{}
	if s.Compiler == nil {
		return none, &api.Refusal{Status: api.Conflict, Why: "cannot compare: this hub has no compiler",
			Hint: "Compare in a clone of the repository: fettle rollout plan REF"}
	}
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-limited.Done():
		return none, s.ended(ctx, &api.Refusal{Status: api.TooMany,
			Why: "cannot compare now: the hub computes another comparison", Hint: "Try again"})
	}
	d, err := s.compute(limited, at.Commit)
	if err != nil {
		return none, s.ended(ctx, err)
	}
	d.Format, d.Name = document.CommitDifferencesFormat, at.Commit
	return d, ctx.Err()
}

// ended returns an error, but after the request was cancelled its own error, and after the time limit an answer.
func (s *Service) ended(ctx context.Context, err error) error {
	switch _, refused := errors.AsType[*api.Refusal](err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case !refused && errors.Is(err, context.DeadlineExceeded):
		return late("cannot compare within " + s.Timeout.String())
	}
	return err
}

// compute compares while it has the turn.
func (s *Service) compute(ctx context.Context, name string) (d document.CommitDifferences, err error) {
	commit, m, err := s.fetch(ctx, name)
	if err != nil {
		return d, err
	}
	w := &work{Config: s.Config, ctx: ctx, commits: &s.commits,
		open: func() (*tree, error) { return open(ctx, m, commit) }}
	defer w.close()
	c, err := w.compiled(commit)
	if err != nil {
		return d, err
	}
	plan, all, err := s.Decide(ctx, c.Compiled, c.Revision)
	if err != nil {
		return d, err
	}
	facts, err := s.Facts(ctx)
	if err != nil {
		return d, err
	}
	g := group(all, c.errors(), facts)
	key := g.key(commit)
	if known, ok := s.answers.get(key); ok {
		d = known
	} else {
		if d, err = w.compare(c, g); err != nil {
			return d, err
		}
		if ctx.Err() == nil { // otherwise it is not complete
			s.answers.put(key, d)
		}
	}
	d.Commit, d.Subject, d.Time, d.Plan = commit, c.Subject, c.Revision.Time, plan
	return d, nil
}
