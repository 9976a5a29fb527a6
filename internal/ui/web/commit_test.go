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
		`<input type="hidden" name="commit" value="cccccccccccc"><button>Compare`, "&lt;b&gt;"} {
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

// TestDifferences: the page shows all parts of the answer of the hub as text, and only a form without a commit.
func TestDifferences(t *testing.T) {
	asked := 0
	hub := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/commits/") {
			fakehub.Hostile{Rights: []string{"read"}, Text: "x"}.ServeHTTP(w, r)
			return
		}
		asked++
		w.Header().Set("Content-Type", "application/json")
		if r.URL.EscapedPath() != "/v1/commits/next%2F%3Cb%3E/differences" {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(document.Problem{Title: "Not found", Status: 404, Hint: "push it"})
			return
		}
		_ = json.NewEncoder(w).Encode(document.CommitDifferences{Commit: strings.Repeat("c", 40), Subject: "<i>",
			Targets: 300, Unchanged: 7,
			Groups: []document.DifferenceGroup{{Count: 280, Targets: []string{"web1", "web2"}, MoreLines: 4,
				Lines: []document.DifferenceLine{{Text: "-MKDIR /<i>", Source: "web.hcl:1"}, {Text: "+MKDIR /b"}}}},
			MoreGroups: 2, MoreTargets: 10,
			Failed:      []document.TargetsWithReason{{Reason: "<i> is missing", Count: 1, Targets: []string{"db1"}}},
			NotCompared: []document.TargetsWithReason{{Reason: "pinned to v1", Count: 2, Targets: []string{"db2", "db3"}}},
			Plan: document.RolloutPlan{Rollouts: []document.PlannedRollout{{Strategy: "careful", WorstCase: 2,
				Waves: []document.PlannedWave{{Name: "first", Targets: []string{"web1"}}}}}},
			Tests: document.TestResults{Total: 5, Passed: 3, NotRun: 1,
				Failed: []document.FailedTest{{ID: "web.hcl/tls", Reason: "it differs"}}}})
	})
	s := siteOf(t, hub)
	text := read(s, "/differences?commit=next%2F%3Cb%3E").Body.String()
	for _, want := range []string{"300; 7 without a difference", "3 of 5 pass; 1 did not run", "web.hcl/tls", "it differs",
		"strategy careful begins: first with 1 target. Worst case: 2 targets can fail", "<h3>280 targets</h3>",
		`<a href="/targets/web2">web2</a>, …`,
		`<span class="removed">-MKDIR /&lt;i&gt;</span> <span class="place">web.hcl:1`,
		`<span class="added">&#43;MKDIR /b</span>`, "4 more lines", "2 more groups with 10 targets", "&lt;i&gt; is missing",
		"pinned to v1", "fettle rollout diff &#39;next/&lt;b&gt;&#39;", "$HUB/v1/commits/next%2F%3Cb%3E/differences",
		`value="next/&lt;b&gt;"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "<i>") || strings.Contains(text, "data-path") {
		t.Errorf("the page has elements of a text, or updates itself:\n%s", text)
	}
	if text := read(s, "/differences").Body.String(); asked != 1 || !strings.Contains(text, `name="commit" value=""`) {
		t.Errorf("%d requests to the hub:\n%s", asked, text)
	}
	if text := read(s, "/differences?commit=nowhere").Body.String(); !strings.Contains(text, "push it") {
		t.Errorf("no hint:\n%s", text)
	}
	if text := read(s, "/live?at=/differences%3Fcommit=x").Body.String(); asked != 2 {
		t.Errorf("the page can be followed: %s", text)
	}
}
