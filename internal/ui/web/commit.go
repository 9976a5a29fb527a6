package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

// commitData is the data of the page of a commit.
type commitData struct {
	Commit, Subject, Branch string
	Modules                 []committed
	Rollouts                []document.Rollout // that the commit caused
	// Waves are the waves of the newest of these rollouts, with examples of targets that got the change.
	Waves []waveOfCommit
}

// waveOfCommit is a wave of a rollout. A target of it can show the changes.
type waveOfCommit struct {
	Name     string
	Examples []string // names
	More     int      // number of further targets that got the change
	Pending  int      // number of targets that did not get it
}

// maxExamples is the number of targets of a wave that a page names.
const maxExamples = 5

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
			Hint:   "See its effect: fettle rollout diff " + commit}
	}
	if len(d.Rollouts) > 0 {
		newest, err := get(v, route.Rollout(), route.RolloutID{Rollout: d.Rollouts[0].ID})
		if err != nil {
			return nil, err
		}
		d.Waves = wavesOf(newest)
	}
	slices.SortFunc(d.Modules, func(a, b committed) int { return strings.Compare(a.Module, b.Module) })
	return &page{Title: "Commit " + short(d.Commit), Tab: "/modules", Template: "commit", Data: d,
		Command: "fettle module list", Address: address(route.Modules(), route.None{})}, nil
}

// wavesOf returns the waves of a rollout with examples of targets.
func wavesOf(r document.RolloutDetail) (out []waveOfCommit) {
	at := map[string]int{}
	for i, w := range r.Rollout.Waves {
		at[w.Name] = i
		out = append(out, waveOfCommit{Name: w.Name})
	}
	for _, t := range r.Targets {
		i, ok := at[t.Wave]
		switch got := slices.Contains([]string{"granted", "ready", "failed", "silent"}, t.State); {
		case !ok:
		case !got:
			out[i].Pending++
		case t.Name == "" || len(out[i].Examples) == maxExamples:
			out[i].More++
		default:
			out[i].Examples = append(out[i].Examples, t.Name)
		}
	}
	return out
}

// differencesData is the data of the page with the differences of a commit.
type differencesData struct {
	Name   string // as the user wrote it
	Result *document.CommitDifferences
}

// differencesPage shows the differences of a commit, which the hub computes for each request. Without a commit, it
// shows only a form.
func differencesPage(v *visit) (*page, error) {
	d := differencesData{Name: strings.TrimSpace(v.URL.Query().Get("commit"))}
	p := &page{Title: "Differences of a commit", Tab: "/rollouts", Template: "differences", Data: d}
	if d.Name == "" {
		return p, nil
	}
	at := route.CommitName{Commit: d.Name}
	result, err := get(v, route.CommitDifferences(), at)
	if err != nil {
		return nil, err
	}
	d.Result = &result
	words := []string{"fettle", "rollout", "diff", d.Name}
	if strings.HasPrefix(d.Name, "-") {
		words = []string{"fettle", "rollout", "diff", "--", d.Name}
	}
	p.Title, p.Data = "Differences of commit "+short(result.Commit), d
	p.Command, p.Address = commandOf(words...), address(route.CommitDifferences(), at)
	return p, nil
}

// runOfCommitPage shows the run that applied a commit on the host of a target.
func runOfCommitPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	commit := strings.ToLower(v.PathValue("commit"))
	p := &page{Title: "Commit " + short(commit) + " on " + host.Name, Command: host.command("log")}
	return p, p.addRun(v, host, func(ctx context.Context, x *wire.Client) (int, error) {
		runs, err := x.Runs(ctx)
		if err != nil {
			return 0, err
		}
		if n, ok := runOfCommit(runs, commit); ok {
			return n, nil
		}
		return 0, &document.Problem{Title: "No run of this commit", Status: http.StatusNotFound,
			Detail: "cannot find the commit " + commit + " in the journal of " + host.Name,
			Hint:   "List the runs: " + p.Command}
	})
}

// runOfCommit returns the oldest successful run with a commit. If no run succeeded, it returns the newest run with the
// commit. Later runs with the same commit repair drift, or apply other modules.
func runOfCommit(runs []journal.RunInfo, commit string) (n int, ok bool) {
	isOf := func(c string) bool { return len(commit) >= 7 && strings.HasPrefix(c, commit) }
	for _, r := range runs { // the oldest run is first
		rev := r.Header.Revision
		if !isOf(rev.Commit) && !slices.ContainsFunc(rev.Parts, func(p repo.PartRevision) bool { return isOf(p.Commit) }) {
			continue
		}
		if n, ok = r.Header.Run, true; r.Outcome == journal.Succeeded {
			break
		}
	}
	return n, ok
}
