package web

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// mostFound is the number of items of a kind that a search shows.
const mostFound = 50

// searchData is the result of a search.
type searchData struct {
	Text     string
	Targets  []document.Target
	Modules  []document.Module
	Rollouts []document.Rollout
	Commits  []document.RevisionCount
}

// Empty reports whether nothing was found.
func (d searchData) Empty() bool {
	return len(d.Targets)+len(d.Modules)+len(d.Rollouts)+len(d.Commits) == 0
}

// searchPage finds targets by name, identity or label, modules, rollouts, and commits that targets have.
func searchPage(v *visit) (*page, error) {
	d := searchData{Text: strings.TrimSpace(v.URL.Query().Get("q"))}
	p := &page{Title: "Search", Template: "search"}
	if d.Text == "" {
		p.Data = d
		return p, nil
	}
	text := strings.ToLower(d.Text)
	has := func(all ...string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
	}
	targets, err := get(v, route.Targets(), route.TargetQuery{All: true})
	if err != nil {
		return nil, err
	}
	for _, t := range targets.Targets {
		if has(t.Name, string(t.ID), labelText(t.Labels)) && len(d.Targets) < mostFound {
			d.Targets = append(d.Targets, t)
		}
	}
	modules, err := get(v, route.Modules(), route.None{})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, m := range modules.Modules {
		if has(m.Module) && len(d.Modules) < mostFound {
			d.Modules = append(d.Modules, m)
		}
		for _, r := range m.Revisions {
			if has(r.Subject) || strings.HasPrefix(r.Commit, text) {
				if !seen[r.Commit] && len(d.Commits) < mostFound {
					d.Commits, seen[r.Commit] = append(d.Commits, r), true
				}
			}
		}
	}
	rollouts, err := get(v, route.Rollouts(), route.None{})
	if err != nil {
		return nil, err
	}
	for _, r := range rollouts.Rollouts {
		if has(append([]string{r.ID, r.Cause, r.Why}, r.Parts...)...) && len(d.Rollouts) < mostFound {
			d.Rollouts = append(d.Rollouts, r)
		}
	}
	p.Data = d
	return p, nil
}

func labelText(labels map[string]string) string {
	var b strings.Builder
	for _, f := range sortedFacts(labels) {
		b.WriteString(f.Name + "=" + f.Value + " ")
	}
	return b.String()
}
