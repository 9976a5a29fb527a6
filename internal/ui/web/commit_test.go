package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/fakehub"
)

// rolledOut is a hub with a commit in the first of two waves.
type rolledOut struct{ http.Handler }

func (h rolledOut) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	commit := strings.Repeat("c", 40)
	one := document.Rollout{ID: "r4", Strategy: "careful", Cause: "commit " + commit[:12] + ": <b>", Phase: "active",
		Parts: []string{"modules/web", "top"}, WorstCase: 2,
		Waves: []document.RolloutWave{{Name: "canary", Targets: 6, Ready: 1}, {Name: "rest", Targets: 1}}}
	var answer any
	switch r.URL.Path {
	case "/v1/rollouts":
		answer = document.RolloutPage{Rollouts: []document.Rollout{one}}
	case "/v1/rollouts/r4":
		d := document.RolloutDetail{Rollout: one}
		for _, name := range []string{"a/b", "c", "d", "e", "f", "g"} {
			d.Targets = append(d.Targets, document.RolloutTarget{Name: name, Wave: "canary", State: "ready"})
		}
		d.Targets = append(d.Targets, document.RolloutTarget{Name: "web9", Wave: "rest", State: "pending"},
			document.RolloutTarget{Name: "web7", Wave: "rest", State: "returned"},
			document.RolloutTarget{Name: "web8", Wave: "gone", State: "ready"})
		d.Targets[0].State = "silent"
		answer = d
	default:
		h.Handler.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// TestCommit: a commit has its rollouts, their worst case, and targets that show its changes.
func TestCommit(t *testing.T) {
	s := siteOf(t, rolledOut{fakehub.Hostile{Rights: []string{"read"}, Text: "x"}})
	text := read(s, "/commits/cccccccccccc").Body.String()
	for _, want := range []string{"2 targets can fail before it stops by itself",
		"canary: 1 of 6 ready; rest: 0 of 1 ready",
		`href="/targets/a%2Fb/commits/cccccccccccc"`, "and 1 more", "<dd>web, root bundle</dd>",
		`<td>none</td><td class="number">2</td>`,
		"fettle rollout plan cccccccccccc", "fettle diff &#39;cccccccccccc^&#39; cccccccccccc --fleet", "&lt;b&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "web7") || strings.Contains(text, "web8") || strings.Contains(text, "web9") {
		t.Error("the page links to targets that did not get the commit")
	}
}

// commits is a host that applied a commit of a module several times.
type commits struct{ history }

func (commits) Runs(context.Context) (out []journal.RunInfo, err error) {
	part := []repo.PartRevision{{Directory: "modules/web", Commit: strings.Repeat("e", 40)}}
	for n, outcome := range []journal.Outcome{"", journal.Failed, journal.Succeeded, journal.Succeeded} {
		r := journal.RunInfo{Outcome: outcome, Header: journal.Header{Run: n + 57, Revision: repo.Revision{
			Commit: strings.Repeat("d", 40)}}}
		if n > 0 {
			r.Header.Revision.Parts = part
		}
		out = append(out, r)
	}
	return out, nil
}

func (x commits) RunDetails(ctx context.Context, n int, diffs bool) (executor.RunDetails, error) {
	return x.history.RunDetails(ctx, n, diffs)
}

// TestCommitOnATarget: the page shows the first run that succeeded with the commit, also of a module.
func TestCommitOnATarget(t *testing.T) {
	s := siteOf(t, plain(commits{}, "read"))
	for commit, want := range map[string]string{"eeeeeeeeeeee": "59", "DDDDDDD": "59"} {
		text := read(s, "/targets/web1/commits/"+commit).Body.String()
		for _, part := range []string{"/targets/web1/runs/" + want + "/graph.svg", "fettle show -t web1 " + want,
			"Commit " + strings.ToLower(commit) + " on web1"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the page lacks %q:\n%s", commit, part, text)
			}
		}
	}
	for _, commit := range []string{"fffffff", "e", "ddddddddg"} {
		w := read(s, "/targets/web1/commits/"+commit)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "No run of this commit") {
			t.Errorf("%s: %d %s", commit, w.Code, w.Body)
		}
	}
}
