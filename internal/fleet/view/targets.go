package view

import (
	"cmp"
	"context"
	"slices"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

// Targets returns a page of the selected targets. An error about the query wraps ErrQuery. It reads only the rows that
// changed since the last call.
func (v *View) Targets(ctx context.Context, q TargetQuery) (document.TargetPage, error) {
	page := document.TargetPage{Format: document.TargetPageFormat, Targets: []document.Target{}}
	order, err := targetOrder(q.Sort)
	if err != nil {
		return page, err
	}
	after, err := order.parse(q.After)
	if err != nil {
		return page, err
	}
	all, err := v.entries(ctx, q.Now)
	if err != nil {
		return page, err
	}
	if !q.All {
		all = slices.DeleteFunc(all, func(e entry) bool { return e.gone() })
	}
	if all, err = v.chosen(all, q.Select); err != nil {
		return page, err
	}
	if q.Supervisor != "" {
		inside, err := guestTargets(ctx, v, q.Supervisor)
		if err != nil {
			return page, err
		}
		all = slices.DeleteFunc(all, func(e entry) bool { return !inside[e.ID] })
	}
	if q.By != "" {
		if err := addCounts(ctx, v, &page, all, q); err != nil {
			return page, err
		}
	}
	if q.State != "" {
		all = slices.DeleteFunc(all, func(e entry) bool { return e.state != q.State })
	}
	page.Total = len(all)
	order.page(&page, all, after, q)
	return page, nil
}

// addCounts adds the counts that a query asks for.
func addCounts(ctx context.Context, v *View, to *document.TargetPage, all []entry, q TargetQuery) (err error) {
	var lists map[int64][]string
	if q.By == "module" {
		err = v.look(ctx, func(s *readTx) (err error) {
			lists, err = s.modulesOfLists()
			return err
		})
	}
	var scopes map[string][]string
	if q.By == "scope" {
		scopes = scopesByTarget(v)
	}
	of, gerr := newGrouping(q.By, lists, scopes)
	if err = cmp.Or(err, gerr); err == nil {
		of.count(to, all, q)
	}
	return err
}

// Page returns one page of a list; limit 0 means MaxPage.
func Page[T any](all []T, offset, limit int) []T {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	offset = min(max(offset, 0), len(all))
	return all[offset:min(offset+limit, len(all))]
}

// chosen returns the selected targets. The name of a target in the fleet
// also selects removed targets with the same name.
func (v *View) chosen(all []entry, words []string) ([]entry, error) {
	if len(words) == 0 {
		return all, nil
	}
	s, err := selection.Parse(words)
	if err != nil {
		return nil, queryError(err)
	}
	v.mu.Lock()
	belongs := v.memberships
	v.mu.Unlock()
	inventory := make([]query.Target, 0, len(all))
	given := selection.Given{}
	for _, t := range all { // for equal names, the first one is in the fleet
		b := belongs[t.Name]
		inventory = append(inventory, query.Target{Name: t.Name, Labels: t.Labels, Roles: b.Roles, Groups: b.Groups})
		if t.state == document.Failed {
			given.Failed = append(given.Failed, t.Name)
		}
	}
	found, err := s.Choose(inventory, given)
	if err != nil {
		return nil, queryError(err)
	}
	names := make(map[string]bool, len(found))
	for _, t := range found {
		names[t.Name] = true
	}
	return slices.DeleteFunc(all, func(t entry) bool { return !names[t.Name] }), nil
}
