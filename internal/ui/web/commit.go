package web

import (
	"net/http"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// commitData is the data of the page of a commit.
type commitData struct {
	Commit, Subject, Branch string
	Modules                 []committed
	Rollouts                []document.Rollout // that the commit caused
}

// committed is a module with the number of targets that have a commit of it.
type committed struct {
	Module  string
	Targets int // to which the module is assigned
	document.RevisionCount
}

// commitPage shows a commit: the modules and the numbers of targets to which it is assigned, and its rollouts.
func commitPage(v *visit) (*page, error) {
	commit := strings.ToLower(v.PathValue("commit"))
	modules, err := get(v, route.Modules(), route.None{})
	if err != nil {
		return nil, err
	}
	rollouts, err := get(v, route.Rollouts(), route.None{})
	if err != nil {
		return nil, err
	}
	d := commitData{Commit: commit}
	for _, m := range modules.Modules {
		for _, r := range m.Revisions {
			if len(commit) >= 7 && strings.HasPrefix(r.Commit, commit) {
				d.Commit, d.Subject, d.Branch = r.Commit, r.Subject, r.Branch
				d.Modules = append(d.Modules, committed{m.Module, m.Targets, r})
			}
		}
	}
	for _, r := range rollouts.Rollouts {
		if len(commit) >= 7 && strings.Contains(r.Cause, commit[:min(12, len(commit))]) {
			d.Rollouts = append(d.Rollouts, r)
		}
	}
	if len(d.Modules)+len(d.Rollouts) == 0 {
		return nil, &document.Problem{Title: "No target has this commit", Status: http.StatusNotFound,
			Detail: "cannot find the commit " + commit + " in an assignment, in an applied state or in a rollout",
			Hint:   "See its effect before the push: fettle rollout plan " + commit}
	}
	slices.SortFunc(d.Modules, func(a, b committed) int { return strings.Compare(a.Module, b.Module) })
	return &page{Title: "Commit " + short(d.Commit), Tab: "/modules", Template: "commit", Data: d,
		Command: "fettle module list", Address: address(route.Modules(), route.None{})}, nil
}
