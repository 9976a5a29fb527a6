package preview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleetdiff"
)

// longPlan returns a plan with one rollout, and n classes of changes.
func longPlan(n int) RolloutPlanDoc {
	d := RolloutPlanDoc{Plan: document.RolloutPlan{Branch: "main", Head: strings.Repeat("9", 40),
		Rollouts: []document.PlannedRollout{{Strategy: "careful", Cause: "commit 12: <b>@all</b> | *x*",
			Parts: []string{"modules/web", "top"}, OnBreach: "rollback", WorstCase: 2,
			Waves: []document.PlannedWave{{Name: "first", Targets: []string{"web1"}, MaxUnavailable: 1, Bake: 600,
				Gates: []document.PlannedGate{{Name: "board|", Type: "approval", Need: 2},
					{Name: "errors", Type: "compare", Void: true},
					{Name: "up", Type: "metric", DryRun: true}}}},
			Supersedes: []document.PlannedSuperseded{{Rollout: "r7", Targets: 3, Ends: true}}}},
		StrategyChanges: []document.PlannedStrategyChange{{From: "careful", To: "at-once", Targets: []string{"web1"}}},
		Waiting:         []document.PlannedTargets{{Reason: "no contact", Targets: []string{"web2"}}}}}
	for i := range n {
		d.Classes = append(d.Classes, fleetdiff.Diff{Targets: []string{fmt.Sprintf("web%d", i)},
			Lines: slices.Repeat([]string{"+MKDIR /srv/```" + strings.Repeat("ä", 30)}, 300)})
	}
	return d
}

// The Markdown fits in a comment, and text of a commit does not change its form.
func TestPlanMarkdown(t *testing.T) {
	short, long := planMarkdown(longPlan(1)), planMarkdown(longPlan(50))
	for _, want := range []string{"because of commit 12: &lt;b&gt;\\@all&lt;/b&gt; \\| \\*x\\*",
		"| first | web1 | 1 | 10m0s | approval board\\| by 2 users, compare errors " +
			"(no effect: there are no targets to compare), metric up (dry run) |",
		"- Worst case: 2 targets can fail before it stops by itself; then all targets that have the change return",
		"- Supersedes: r7 (loses 3 targets, and ends)", "- **Waiting** (no contact): web2",
		"- With this content, targets change from the strategy careful to at-once: web1", "\n````diff\n+MKDIR",
		"… and 100 more lines\n````\n", "</details>\n"} {
		if !strings.Contains(short, want) {
			t.Errorf("there is no %q in\n%s", want, short)
		}
	}
	if len(long) > 65536 || !strings.Contains(long, "Further changes are too long for a comment") {
		t.Errorf("%d bytes: %s", len(long), long[len(long)-200:])
	}
	many := longPlan(0)
	many.Plan.Rollouts = slices.Repeat(many.Plan.Rollouts, 500)
	if text := planMarkdown(many); len(text) > 65536 || !strings.HasSuffix(text, "The plan is too long for a comment.\n") {
		t.Errorf("%d bytes", len(text))
	}
}
