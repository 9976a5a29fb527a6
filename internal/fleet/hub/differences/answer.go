package differences

import (
	"cmp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleetdiff"
)

// Limits of an answer.
const (
	mostGroups = 50
	mostLines  = 200  // of a group
	mostNames  = 100  // of a group, and of a reason
	mostText   = 2000 // bytes of a line or of a reason
)

// groupsOf returns the groups of an answer, and the numbers of groups and targets that are left out.
func groupsOf(all []fleetdiff.Diff) (out []document.DifferenceGroup, moreGroups, moreTargets int) {
	out = []document.DifferenceGroup{}
	for i, d := range all {
		if i >= mostGroups {
			moreGroups++
			moreTargets += len(d.Targets)
			continue
		}
		g := document.DifferenceGroup{Count: len(d.Targets), Targets: first(d.Targets),
			MoreLines: max(0, len(d.Lines)-mostLines)}
		for n, line := range d.Lines[:min(mostLines, len(d.Lines))] {
			l := document.DifferenceLine{Text: clip(line)}
			if n < len(d.Sources) {
				l.Source = clip(d.Sources[n])
			}
			g.Lines = append(g.Lines, l)
		}
		out = append(out, g)
	}
	return out, moreGroups, moreTargets
}

// listed returns targets by reason, the most targets first.
func listed(r reasons) []document.TargetsWithReason {
	out := []document.TargetsWithReason{}
	for reason, targets := range r {
		slices.Sort(targets)
		out = append(out, document.TargetsWithReason{Reason: clip(reason), Count: len(targets), Targets: first(targets)})
	}
	slices.SortFunc(out, func(a, b document.TargetsWithReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

func first(names []string) []string { return slices.Clone(names[:min(mostNames, len(names))]) }

// clip shortens a text.
func clip(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// firstError returns the first error as text.
func firstError(ds diag.List) string {
	i := slices.IndexFunc(ds, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if i < 0 {
		return "unknown error"
	}
	return ds[i].String()
}
