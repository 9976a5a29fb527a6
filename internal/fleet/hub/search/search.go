package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// The limits of a search.
const (
	maxText      = 200 // bytes
	defaultLimit = 50
	maxLimit     = 500
)

// Views are the queries of the read model. *view.View implements it.
type Views interface {
	Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error)
	Modules(ctx context.Context, now time.Time) (document.ModulePage, error)
}

// Rollouts are the stored rollouts.
type Rollouts interface {
	Rollouts(ctx context.Context) ([]document.Rollout, error)
}

// Service searches a fleet.
type Service struct {
	Views    Views
	Rollouts Rollouts
	Index    *Index
	// Runs returns ended runs, the newest first, and how many more there are.
	Runs func(ctx context.Context, q view.RunQuery) (out []document.Event, more int, err error)
}

// HandleRoutes registers the handler of searches.
func (s Service) HandleRoutes(t *api.Table) { api.Handle(t, route.Search(), s.Search) }

// Search returns the objects that have the text in their name, without regard to upper and lower case. It changes
// nothing.
func (s Service) Search(ctx context.Context, by api.Caller, q route.SearchQuery,
	_ route.None) (document.Search, error) {
	text := strings.TrimSpace(q.Text)
	d := document.Search{Format: document.SearchFormat, Text: text, Targets: []document.Target{},
		Modules: []document.Module{}, States: []document.FoundState{}, Commits: []document.RevisionCount{},
		Rollouts: []document.Rollout{}, Runs: []document.Event{}, More: map[string]int{}}
	if len(text) > maxText {
		return d, &api.Refusal{Status: api.BadRequest, Why: fmt.Sprintf("cannot search for a text of %d bytes", len(text)),
			Hint: fmt.Sprintf("Give a text of at most %d bytes", maxText)}
	}
	if text == "" {
		return d, nil
	}
	f := finder{Service: s, text: strings.ToLower(text), now: by.Now, limit: defaultLimit, found: &d}
	if q.Limit > 0 {
		f.limit = min(q.Limit, maxLimit)
	}
	parts, end, err := s.Index.Begin(ctx)
	if err != nil {
		return d, err
	}
	defer end()
	f.states(ctx, parts)
	finders := []func(context.Context) error{f.targets, f.modules, f.runs}
	if fleet.BoundaryOf(ctx).All() { // rollouts belong to the whole fleet
		finders = append(finders, f.rollouts)
	}
	for _, find := range finders {
		if err := find(ctx); err != nil {
			return d, err
		}
	}
	maps.DeleteFunc(d.More, func(_ string, n int) bool { return n == 0 })
	return d, nil
}

// finder is one search.
type finder struct {
	Service
	text  string // in lower case
	now   time.Time
	limit int
	found *document.Search
}

func (f finder) has(all ...string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(strings.ToLower(s), f.text) })
}

// first returns the first elements of a list, and counts the rest.
func first[T any](f finder, name string, all []T) []T {
	n := min(len(all), f.limit)
	f.found.More[name] = len(all) - n
	return slices.Clip(append([]T{}, all[:n]...))
}

func (f finder) targets(ctx context.Context) error {
	var all []document.Target
	for q := (view.TargetQuery{All: true, Now: f.now}); ; q.Offset += view.MaxPage {
		page, err := f.Views.Targets(ctx, q)
		if err != nil {
			return err
		}
		for _, t := range page.Targets {
			if f.has(t.Name, string(t.ID), labelText(t.Labels)) {
				all = append(all, t)
			}
		}
		if q.Offset+view.MaxPage >= page.Total {
			f.found.Targets = first(f, "targets", all)
			return nil
		}
	}
}

// labelText returns labels as NAME=VALUE, sorted.
func labelText(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(name + "=" + labels[name] + " ")
	}
	return b.String()
}

// modules finds modules, and commits of modules by their begin or their subject.
func (f finder) modules(ctx context.Context) error {
	page, err := f.Views.Modules(ctx, f.now)
	var modules []document.Module
	var commits []document.RevisionCount
	seen := map[string]bool{}
	for _, m := range page.Modules {
		if f.has(m.Module) {
			modules = append(modules, m)
		}
		for _, r := range m.Revisions {
			if !seen[r.Commit] && (f.has(r.Subject) || strings.HasPrefix(r.Commit, f.text)) {
				commits = append(commits, r)
				seen[r.Commit] = true
			}
		}
	}
	f.found.Modules, f.found.Commits = first(f, "modules", modules), first(f, "commits", commits)
	return err
}

func (f finder) states(ctx context.Context, parts []view.PartInUse) {
	all, incomplete := f.Index.Find(parts, f.text)
	if !fleet.BoundaryOf(ctx).All() && len(incomplete) > 0 { // the reasons can name other modules
		incomplete = []string{"the hub cannot read some of the content: ask an operator of the fleet"}
	}
	f.found.States, f.found.Incomplete = first(f, "states", all), incomplete
}

func (f finder) rollouts(ctx context.Context) error {
	all, err := f.Rollouts.Rollouts(ctx)
	all = slices.DeleteFunc(slices.Clone(all), func(r document.Rollout) bool {
		return !f.has(r.ID, r.Cause, r.Why) && !f.has(r.Parts...)
	})
	f.found.Rollouts = first(f, "rollouts", all)
	return err
}

// isCommit reports whether a text is the begin of a commit that is long enough to name it.
func isCommit(text string) bool {
	return len(text) >= 7 && len(text) <= 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// runs finds runs by NUMBER or COMMIT, with "TARGET " before it for the runs of one target.
func (f finder) runs(ctx context.Context) error {
	q := view.RunQuery{Limit: f.limit}
	words := strings.Fields(f.found.Text)
	if len(words) == 2 {
		q.Target = words[0]
	}
	if len(words) < 1 || len(words) > 2 {
		return nil
	}
	last := strings.ToLower(words[len(words)-1])
	if n, err := strconv.Atoi(last); err == nil && len(last) < 7 {
		q.Run = max(n, 0)
	} else if isCommit(last) {
		q.Commit = last
	}
	found, more, err := f.Runs(ctx, q)
	f.found.Runs, f.found.More["runs"] = append(f.found.Runs, found...), more
	return err
}
