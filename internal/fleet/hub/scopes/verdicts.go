package scopes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
)

const (
	// maxReasons limits the reasons of a stored verdict, and reasonsEvery the time between two writes of other reasons.
	maxReasons   = 10
	reasonsEvery = time.Minute
)

// storeVerdicts stores the verdicts that changed.
func (s *Scopes) storeVerdicts(ctx context.Context, e *evaluation) error {
	var errs []error
	results := e.results
	if s.settles() {
		results = s.settling(e)
	}
	s.Records.Scopes.Each(func(id string, f records.Formatted[records.Scope], rev uint64) {
		r, ok := results[id]
		was := f.State.Verdict
		if !ok {
			return
		}
		now := records.ScopeVerdict{Verdict: r.Verdict, Since: s.Now().UnixMilli(),
			Reasons: r.Reasons[:min(len(r.Reasons), maxReasons)]}
		changed := was.Verdict != r.Verdict
		if !changed {
			now.Since = was.Since
			if reflect.DeepEqual(was.Reasons, now.Reasons) || e.at.UnixMilli()-f.State.Wrote < reasonsEvery.Milliseconds() {
				return
			}
		}
		f.State.Verdict, f.State.Wrote = now, s.Now().UnixMilli()
		if changed && was.Verdict != "" {
			f.State.Earlier = append(f.State.Earlier[:len(f.State.Earlier):len(f.State.Earlier)], was)
			f.State.Earlier = f.State.Earlier[max(0, len(f.State.Earlier)-records.MaxVerdicts):]
		}
		if err := s.Records.Scopes.Put(ctx, id, f, rev); err != nil {
			errs = append(errs, fmt.Errorf("cannot store the verdict of %s: %w", id, err))
			return
		}
		if changed {
			s.noteVerdict(ctx, id, was.Verdict, now)
		}
	})
	return errors.Join(errs...)
}

// settling returns the results that count while agents connect again. They do not depend on targets that are not
// connected, or are worse than the stored verdict even if these targets succeed.
func (s *Scopes) settling(e *evaluation) map[string]scope.Result {
	out := map[string]scope.Result{}
	for _, best := range scope.Best(e.input) {
		f, _, _ := s.Records.Scopes.Get(best.Scope)
		switch is, was := e.results[best.Scope], f.State.Verdict.Verdict; {
		case is.Verdict == best.Verdict:
			out[is.Scope] = is
		case was != best.Verdict && scope.Worse(was, best.Verdict) == best.Verdict && was != "":
			out[best.Scope] = best
		}
	}
	return out
}

// noteVerdict records another verdict in the log of the fleet.
func (s *Scopes) noteVerdict(ctx context.Context, id string, was scope.Verdict, now records.ScopeVerdict) {
	text := string(now.Verdict)
	if was != "" {
		text += ", before " + string(was)
	}
	why := ""
	if len(now.Reasons) > 0 {
		why = now.Reasons[0].Text
	}
	if now.Verdict != scope.Failed && why != "" {
		text, why = text+": "+why, ""
	}
	s.note(ctx, id, text, why)
}

// note records an event of a scope. failure is the reason of a failure, or "".
func (s *Scopes) note(ctx context.Context, id, text, failure string) {
	e := fleet.HubEvent{Kind: fleet.ScopeChanged, Text: "scope " + id + ": " + text}
	if failure != "" {
		e.Error = e.Text + ": " + failure
	}
	s.Events.Note(context.WithoutCancel(ctx), e)
}
