package preview

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/ui/render"
)

// Limits of the Markdown for a comment, in bytes, and of the lines of one class in it.
const (
	mostMarkdown = 65000
	mostLines    = 200
)

// planMarkdown describes a plan in at most mostMarkdown bytes and a note.
func planMarkdown(d RolloutPlanDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### fettle rollout plan\n\n%s\n", plainMarkdown(planTitle(d.Plan)))
	for _, r := range d.Plan.Rollouts {
		fmt.Fprintf(&b, "\n**Rollout** with the strategy `%s`%s, because of %s\n\n", r.Strategy, beginText(r),
			plainMarkdown(r.Cause))
		fmt.Fprintf(&b, "- Changes: %s\n- Worst case: %s\n", plainMarkdown(partNames(r.Parts)), worstCase(r))
		if text := supersedesText(r); text != "" {
			fmt.Fprintf(&b, "- Supersedes: %s\n", text)
		}
		b.WriteString("\n| wave | targets | at once | bake | gates |\n|---|---|---|---|---|\n")
		for _, w := range r.Waves {
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", plainMarkdown(w.Name), plainMarkdown(render.Folded(w.Targets)),
				w.MaxUnavailable, bakeText(w), plainMarkdown(gatesText(w)))
		}
	}
	writeOthers(&b, d)
	if b.Len() > mostMarkdown {
		return strings.ToValidUTF8(b.String()[:mostMarkdown], "") + "\n\n…\n\nThe plan is too long for a comment.\n"
	}
	writeClasses(&b, d)
	return b.String()
}

// writeOthers writes the targets without a rollout, and the dependencies.
func writeOthers(b *strings.Builder, d RolloutPlanDoc) {
	b.WriteString("\n")
	for _, p := range d.Plan.AtOnce {
		fmt.Fprintf(b, "- **At once** (%s): %s to %s\n", plainMarkdown(p.Reason), plainMarkdown(partNames(p.Parts)),
			plainMarkdown(render.Folded(p.Targets)))
	}
	for _, p := range d.Plan.Waiting {
		fmt.Fprintf(b, "- **Waiting** (%s): %s\n", plainMarkdown(p.Reason), plainMarkdown(render.Folded(p.Targets)))
	}
	for _, c := range d.Plan.StrategyChanges {
		fmt.Fprintf(b, "- %s %s\n", plainMarkdown(strategyText(c)), plainMarkdown(render.Folded(c.Targets)))
	}
	for _, n := range d.Plan.Needs {
		fmt.Fprintf(b, "- %s\n", plainMarkdown(needText(n)))
	}
	if d.NoClasses != "" {
		fmt.Fprintf(b, "\nThe step lists are not compared: %s\n", plainMarkdown(d.NoClasses))
	}
}

// writeClasses writes the changes of step lists, as many as fit.
func writeClasses(b *strings.Builder, d RolloutPlanDoc) {
	for i, c := range d.Classes {
		text := classMarkdown(c)
		if b.Len()+len(text) > mostMarkdown {
			fmt.Fprintf(b, "\nFurther changes are too long for a comment (classes of targets: %d). See them with "+
				"`fettle rollout plan`.\n", len(d.Classes)-i)
			return
		}
		b.WriteString(text)
	}
}

func classMarkdown(c fleetdiff.Diff) string {
	lines, more := c.Lines, ""
	if len(lines) > mostLines {
		lines, more = lines[:mostLines], fmt.Sprintf("… and %d more lines\n", len(c.Lines)-mostLines)
	}
	fence := "```"
	var b strings.Builder
	for _, l := range lines {
		for strings.Contains(l, fence) {
			fence += "`"
		}
		b.WriteString(render.Escape(l) + "\n")
	}
	return fmt.Sprintf("\n<details><summary>%s</summary>\n\n%sdiff\n%s%s%s\n</details>\n",
		plainMarkdown(render.Folded(c.Targets)), fence, b.String(), more, fence)
}

// plainMarkdown escapes text from commits and targets, so that Markdown shows it as it is.
func plainMarkdown(text string) string {
	var b strings.Builder
	for _, r := range render.Escape(text) {
		switch {
		case strings.ContainsRune("\\`*_[]|~@#!", r):
			b.WriteString(`\` + string(r))
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
