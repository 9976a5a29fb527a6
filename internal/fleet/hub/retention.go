package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/view"
)

// Retention limits how long a hub stores data that it no longer needs. Zero means the default.
type Retention struct {
	// Content is the time in hours for which unused bundles stay; default 24. Unused bundles are
	// removed after one to two times this time.
	Content int `json:"content_hours,omitempty"`
	// Events is the time in days for which events stay, and unusable tokens. EventsEach is the
	// number of events of one target in the read model. Log is the size of all events in MiB. The
	// defaults are 90, 40 and 1024.
	Events     int `json:"event_days,omitempty"`
	EventsEach int `json:"events_of_target,omitempty"`
	Log        int `json:"log_mib,omitempty"`
	// Jobs is the time in days for which finished and expired jobs stay; default 7.
	Jobs int `json:"request_days,omitempty"`
}

const day = 24 * time.Hour

func (r Retention) content() time.Duration { return time.Duration(cmp.Or(r.Content, 24)) * time.Hour }

func (r Retention) events() time.Duration { return time.Duration(cmp.Or(r.Events, 90)) * day }

func (r Retention) jobs() time.Duration { return time.Duration(cmp.Or(r.Jobs, 7)) * day }

func (r Retention) view() view.Options {
	return view.Options{Events: r.EventsEach, Age: r.events()}
}

// log keeps events a day longer than the read model, which hubs create from the log.
func (r Retention) log() bus.LogConfig {
	return bus.LogConfig{Name: "events", MaxAge: r.events() + day, MaxBytes: int64(cmp.Or(r.Log, 1024)) << 20}
}

func (r Retention) check() error {
	for _, n := range []int{r.Content, r.Events, r.EventsEach, r.Log, r.Jobs} {
		if n < 0 || n > 100_000 {
			return fmt.Errorf("cannot use the value %d in retention in hub.json: a value is between 0 and 100000", n)
		}
	}
	return nil
}

// prune removes outdated data every hour until ctx ends. Content is removed in the longer interval
// of Retention.Content.
func (h *Hub) prune(ctx context.Context) error {
	swept := h.now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour):
		}
		if err := h.view.Prune(ctx, h.now()); err != nil && ctx.Err() == nil {
			h.warn("cannot prune the read model: " + err.Error())
		}
		if err := h.jobs.Prune(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove old jobs: " + err.Error())
		}
		if err := errors.Join(h.certificates.PruneIssued(ctx), h.certificates.PruneLists(ctx)); err != nil && ctx.Err() == nil {
			h.warn("cannot remove expired certificates: " + err.Error())
		}
		if err := h.users.PruneTokens(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove old tokens: " + err.Error())
		}
		if err := h.pruneSharedModules(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove unused shared modules: " + err.Error())
		}
		if h.now().Sub(swept) >= h.set.Retention.content() {
			swept = h.now()
			if err := h.sweep(ctx); err != nil && ctx.Err() == nil {
				h.warn(err.Error())
			}
		}
	}
}

// pruneSharedModules removes shared modules that no assignment uses. Only the leader does so.
func (h *Hub) pruneSharedModules(ctx context.Context) error {
	h.mu.Lock()
	leads := h.leader != nil
	h.mu.Unlock()
	if !leads {
		return nil
	}
	return h.sharedModules.prune(ctx, func() map[string]bool {
		named := map[string]bool{}
		for _, g := range h.records.Assignments.Values() {
			if g.Common != nil {
				named[g.Common.Digest] = true
			}
		}
		return named
	})
}

// sweep removes content that is not in an assignment, in a binary setting or in the last
// computation. It also removes unused commits from the clone of the repository.
func (h *Hub) sweep(ctx context.Context) error {
	digests, commits := map[string]bool{}, map[string]bool{}
	h.records.Assignments.Each(func(_ string, g records.Assignment, _ uint64) {
		for _, m := range partsOf(g.Assignment) {
			digests[m.Bundle.Digest], commits[m.Revision.Commit] = true, true
			if m.Proof != nil {
				digests[m.Proof.Digest] = true
			}
		}
	})
	for _, p := range h.records.Binaries.Values() {
		for _, b := range p.Binary.Files {
			digests[b.Digest] = true
		}
	}
	h.mu.Lock()
	for d := range h.out.ContentDigests() {
		digests[d] = true
	}
	repo := h.repo
	h.mu.Unlock()
	if _, err := h.content.Sweep(func(d string) bool { return digests[d] }); err != nil {
		return err
	}
	if tidy, ok := repo.(interface {
		Tidy(ctx context.Context, source string, keep func(commit string) bool) error
	}); ok {
		return tidy.Tidy(ctx, h.repository().Name, func(c string) bool { return commits[c] })
	}
	return nil
}
