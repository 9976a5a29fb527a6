package verdicts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestLines: the lines of a few scopes contain all of them, each below the scope that contains it.
func TestLines(t *testing.T) {
	all := []document.Scope{of("room/north", document.VerdictFailed, "rack/r1", "rack/r2"),
		of("rack/r1", document.VerdictReady), of("rack/r2", document.VerdictFailed),
		of("cluster/web", document.VerdictEmpty)}
	all[2].Reasons = []document.ScopeReason{{Text: "too few\nmembers"}}
	lines, omitted := Lines(Trees(all), 10)
	const want = `room/north failed
  rack/r2 failed: too few members
  rack/r1 ready
cluster/web empty`
	if got := strings.Join(lines, "\n"); got != want || omitted != 0 {
		t.Errorf("the lines are, without %d:\n%s\nwant\n%s", omitted, got, want)
	}
	lines, omitted = Lines(Trees(all), 2)
	if got := strings.Join(lines, "|"); got != "room/north failed|  rack/r2 failed: too few members" || omitted != 2 {
		t.Errorf("two lines are %s, without %d", got, omitted)
	}
}

// TestLinesOfManyScopes: no scope with a problem is omitted while there is space for its line.
func TestLinesOfManyScopes(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []document.Scope
		for i := range 1 + r.IntN(30) {
			x := of(fmt.Sprint("cluster/c", i), document.Verdicts()[r.IntN(5)])
			for member := range i {
				if r.IntN(i+3) == 0 {
					x.Scopes = append(x.Scopes, fmt.Sprint("cluster/c", member))
				}
			}
			all = append(all, x)
		}
		limit := 1 + r.IntN(20)
		lines, omitted := Lines(Trees(all), limit)
		if len(lines) > limit {
			t.Fatalf("seed %d: %d lines, and %d are the limit", seed, len(lines), limit)
		}
		text := strings.Join(lines, "\n") + "\n"
		for _, x := range all {
			trouble := x.Verdict != document.VerdictReady && x.Verdict != document.VerdictEmpty
			if strings.Contains(text, x.ID+" "+string(x.Verdict)+"\n") {
				continue
			}
			if omitted == 0 || trouble && len(lines) < limit {
				t.Fatalf("seed %d: %s is omitted from\n%s", seed, x.ID, text)
			}
		}
	}
}
