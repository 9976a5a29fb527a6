package preview

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/repository"
	"fettle.dev/fettle/internal/ui/render"
)

// showText prints a plan as text.
func showText(s *cli.Printer, d RolloutPlanDoc) {
	s.Printf("%s\n", planTitle(d.Plan))
	for _, r := range d.Plan.Rollouts {
		showPlannedRollout(s, r)
	}
	for _, p := range d.Plan.AtOnce {
		s.Printf("\nAt once: %s\n  %s: %s\n", render.Escape(p.Reason), render.Folded(p.Targets), partNames(p.Parts))
	}
	for _, p := range d.Plan.Waiting {
		s.Printf("\nWaiting: %s\n  %s\n", render.Escape(p.Reason), render.Folded(p.Targets))
	}
	for _, c := range d.Plan.StrategyChanges {
		s.Printf("\n%s\n  %s\n", strategyText(c), render.Folded(c.Targets))
	}
	if len(d.Plan.Needs) > 0 {
		s.Printf("\nDependencies:\n")
	}
	for _, n := range d.Plan.Needs {
		s.Printf("  %s\n", needText(n))
	}
	showClasses(s, d)
}

func showClasses(s *cli.Printer, d RolloutPlanDoc) {
	if d.NoClasses != "" {
		s.Printf("\nThe step lists are not compared: %s\n", d.NoClasses)
	}
	for _, c := range d.Classes {
		s.Printf("\n%s\n", render.Folded(c.Targets))
		s.Style().ListDiff(s.App.Stdout, c.Lines)
	}
}

// planTitle is the first line of a plan.
func planTitle(p document.RolloutPlan) string {
	what := repository.WorkTreeName
	if p.Commit != "" {
		what = "the commit " + p.Commit[:min(12, len(p.Commit))]
	}
	head := p.Head[:min(12, len(p.Head))]
	if len(p.Rollouts)+len(p.AtOnce) == 0 {
		return fmt.Sprintf("No target would get a change from %s. The branch %s is at %s.", what, p.Branch, head)
	}
	return fmt.Sprintf("Plan for %s. The branch %s is at %s.", what, p.Branch, head)
}

func showPlannedRollout(s *cli.Printer, r document.PlannedRollout) {
	s.Printf("\nA rollout with the strategy %s begins%s\n", r.Strategy, beginText(r))
	s.Printf("  Cause       %s\n", render.Escape(r.Cause))
	s.Printf("  Changes     %s\n", partNames(r.Parts))
	s.Printf("  Worst case  %s\n", worstCase(r))
	if text := supersedesText(r); text != "" {
		s.Printf("  Supersedes  %s\n", text)
	}
	rows := [][]string{}
	for _, w := range r.Waves {
		rows = append(rows, []string{w.Name, render.Folded(w.Targets), fmt.Sprint(w.MaxUnavailable), bakeText(w),
			render.Escape(gatesText(w))})
	}
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"WAVE", "TARGETS", "AT ONCE", "BAKE", "GATES"}, rows)
}

// strategyText says which strategy replaces which one.
func strategyText(c document.PlannedStrategyChange) string {
	return fmt.Sprintf("With this content, targets change from the strategy %s to %s:", c.From, c.To)
}

func beginText(r document.PlannedRollout) string {
	if r.Waits {
		return ", as soon as one of its targets can be changed"
	}
	return ""
}

func worstCase(r document.PlannedRollout) string {
	then := map[string]string{"rollback": "all targets that have the change return", "abort": "it ends",
		"pause": "it waits for an operator"}[r.OnBreach]
	return render.Count(r.WorstCase, "target") + " can fail before it stops by itself; then " + then
}

func supersedesText(r document.PlannedRollout) string {
	var out []string
	for _, o := range r.Supersedes {
		text := fmt.Sprintf("%s (loses %s", o.Rollout, render.Count(o.Targets, "target"))
		if o.Ends {
			text += ", and ends"
		}
		out = append(out, text+")")
	}
	return strings.Join(out, ", ")
}

func bakeText(w document.PlannedWave) string { return (time.Duration(w.Bake) * time.Second).String() }

// gatesText lists the gates of a wave.
func gatesText(w document.PlannedWave) string {
	var out []string
	for _, g := range w.Gates {
		text := g.Type + " " + g.Name
		if g.Need > 0 {
			text += " by " + render.Count(g.Need, "user")
		}
		switch {
		case g.DryRun:
			text += " (dry run)"
		case g.Void:
			text += " (no effect: there are no targets to compare)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func needText(n document.PlannedNeed) string {
	return fmt.Sprintf("%s needs %s (%s)", n.Module, n.Needs, n.Level)
}

// partNames lists parts of assignments for users.
func partNames(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		if out[i] = p; p == "top" {
			out[i] = "the root bundle"
		}
	}
	return strings.Join(out, ", ")
}
