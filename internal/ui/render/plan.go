package render

import (
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// PlanOptions define how much of a plan is printed.
type PlanOptions struct {
	// DiffLines limits the content diff of each change: 0 prints none, a negative number prints all.
	DiffLines int
	// Verbose prints sources, full addresses, and changes that are only recorded.
	Verbose bool
	// Grouped folds a long plan into counts by module, action and kind.
	Grouped bool
	// Drift labels both sides of a difference as found and expected.
	Drift bool
}

// quietLimit is the maximum number of changes of the record only that are listed one by one.
const quietLimit = 5

// addrWidth limits the column of addresses, so that one long path does not move all reasons off the
// screen.
const addrWidth = 48

// sign is the presentation of an action: its symbol, its colour, and its words in a summary.
type sign struct{ symbol, color, summary string }

func signOf(a plan.Action) sign {
	switch a {
	case plan.Create:
		return sign{"+", green, "create"}
	case plan.Update:
		return sign{"~", yellow, "update"}
	case plan.Repair:
		return sign{"!", purple, "repair"}
	case plan.Restore:
		return sign{"<", yellow, "restore"}
	case plan.Remove:
		return sign{"-", red, "remove"}
	case plan.Purge:
		return sign{"-", red, "purge"}
	case plan.Run:
		return sign{">", cyan, "run"}
	case plan.Reboot:
		return sign{"R", red, "reboot"}
	case plan.Wait:
		return sign{"@", blue, "wait for"}
	case plan.Verify:
		return sign{"?", blue, "check"}
	case plan.Adopt:
		return sign{"=", dim, "adopt"}
	case plan.Forget:
		return sign{".", dim, "forget"}
	case plan.Blocked:
		return sign{"x", red, "blocked"}
	case plan.Drift:
		return sign{"!", purple, "only reported as drift"}
	}
	return sign{"*", "", Escape(string(a))}
}

// summaryOrder is the order of the numbers in the summary.
func summaryOrder() []plan.Action {
	return []plan.Action{plan.Create, plan.Update, plan.Repair, plan.Restore, plan.Remove, plan.Purge, plan.Run,
		plan.Reboot, plan.Blocked, plan.Drift, plan.Adopt, plan.Forget, plan.Wait, plan.Verify}
}

// Plan prints a plan: a heading, one line for each change with indented differences, the irreversible
// changes, and a summary.
func (s Style) Plan(w io.Writer, p *plan.Plan, o PlanOptions) {
	fmt.Fprintln(w, s.heading(p))
	if len(p.Changes) > 0 {
		fmt.Fprintln(w)
	}
	s.PlanBody(w, p, o)
	fmt.Fprintf(w, "\n%s\n", s.Summary(p))
}

// PlanBody prints the part of a plan that is the same for several targets with the same changes.
func (s Style) PlanBody(w io.Writer, p *plan.Plan, o PlanOptions) {
	if len(p.Changes) > 0 {
		s.changes(w, p.Changes, o)
	}
	s.irreversible(w, p.Irreversible())
	s.later(w, p.Later)
}

func (s Style) heading(p *plan.Plan) string {
	var b strings.Builder
	if p.Operation == journal.OpRollback {
		b.WriteString("Rollback")
	} else {
		b.WriteString("Plan")
	}
	if p.Target != "" {
		b.WriteString(" for " + s.paint(bold, Escape(p.Target)))
	}
	if p.Operation == journal.OpRollback {
		b.WriteString(", back to " + RunName(p.To))
	}
	if r := s.Revision(p.Revision); r != "" {
		b.WriteString(" at " + r)
	}
	b.WriteString(", from " + RunName(p.Base))
	return b.String()
}

// RunName returns the name of a run: "run 12", or "the origin" for 0.
func RunName(run int) string {
	if run == 0 {
		return "the origin"
	}
	return fmt.Sprintf("run %d", run)
}

// Revision describes a revision: short hash, subject, and uncommitted changes. It is "" for a revision
// without git.
func (s Style) Revision(r repo.Revision) string {
	if r.Commit == "" {
		return ""
	}
	text := s.paint(yellow, Escape(Short(r.Commit)))
	if r.Subject != "" {
		text += ` "` + clip(Escape(r.Subject), 60) + `"`
	}
	if r.Dirty {
		text += s.paint(purple, " with uncommitted changes")
	}
	return text
}

// Short returns the first 8 digits of a commit, or the first 12 of a digest.
func Short(id string) string {
	if hex, ok := strings.CutPrefix(id, "sha256:"); ok {
		return hex[:min(12, len(hex))]
	}
	return id[:min(8, len(id))]
}

func (s Style) changes(w io.Writer, changes []plan.Change, o PlanOptions) {
	if o.Grouped && !o.Verbose && len(changes) > ungroupedLimit {
		s.grouped(w, changes, o)
		return
	}
	width := s.addrColumn(changes)
	quiet := map[plan.Action]int{}
	for _, c := range changes {
		if c.Action == plan.Adopt || c.Action == plan.Forget {
			if quiet[c.Action]++; quiet[c.Action] > quietLimit && !o.Verbose {
				continue
			}
		}
		s.change(w, c, width, o)
	}
	s.folded(w, plan.Adopt, quiet[plan.Adopt], "found in sync", o)
	s.folded(w, plan.Forget, quiet[plan.Forget], "left as they are", o)
}

func (s Style) folded(w io.Writer, a plan.Action, n int, what string, o PlanOptions) {
	if n > quietLimit && !o.Verbose {
		sg := signOf(a)
		fmt.Fprintf(w, "  %s %s\n", s.paint(sg.color, sg.symbol),
			s.paint(dim, fmt.Sprintf("and %d more %s (-v lists them)", n-quietLimit, what)))
	}
}

// change prints one change. It prints a short reason even if the reason only repeats the action, so
// that a line is clear without a legend.
func (s Style) change(w io.Writer, c plan.Change, width int, o PlanOptions) {
	sg := signOf(c.Shown())
	name := s.addrName(c, o)
	reason := Escape(c.Why)
	if c.Shown() == plan.Reboot {
		reason = join("reboots the host:", reason)
	}
	if unknownResult(c) {
		reason = join(reason, "(known after apply)")
	}
	line := fmt.Sprintf("  %s %s", s.paint(sg.color, sg.symbol), name)
	if reason != "" {
		line = fmt.Sprintf("  %s %s  %s", s.paint(sg.color, sg.symbol), pad(name, width), s.paint(dim, reason))
	}
	fmt.Fprintln(w, line)
	s.differences(w, c, o)
	if c.Irreversible != "" {
		fmt.Fprintf(w, "      %s %s\n", s.paint(red, "irreversible:"), Escape(c.Irreversible))
	}
	if c.Note != "" {
		fmt.Fprintf(w, "      %s %s\n", s.paint(yellow, "note:"), Escape(c.Note))
	}
	if o.Verbose && c.Source != "" {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, "from "+Escape(c.Source)))
	}
	if c.Diff != "" && o.DiffLines != 0 {
		s.Diff(w, c.Diff, "      ", o.DiffLines)
	}
}

// addrColumn returns the width of the column of addresses.
func (s Style) addrColumn(changes []plan.Change) int {
	width := 0
	for _, c := range changes {
		width = max(width, columns(s.addrName(c, PlanOptions{})))
	}
	return min(width, addrWidth)
}

// addrName returns the address of a change for a table cell. On a screen, a long address is cut to two
// thirds of the width. An edit is shown as its file and state, because its own address contains the
// edited text.
func (s Style) addrName(c plan.Change, o PlanOptions) string {
	name := c.Addr.String()
	if s.Width == 0 || o.Verbose {
		return Escape(name)
	}
	if c.Addr.Kind() == addr.KindEdit && c.State != "" {
		name = "edit:" + c.Addr.Path() + " (" + c.State + ")"
	}
	return clip(Escape(name), max(s.Width*2/3, addrWidth))
}

// unknownResult reports whether only the run determines the result.
func unknownResult(c plan.Change) bool {
	if c.To != nil || (c.Action != plan.Create && c.Action != plan.Update && c.Action != plan.Repair) {
		return false
	}
	k := c.Addr.Kind()
	return k != addr.KindExec && k != addr.KindAct && k != addr.KindWait && k != addr.KindCheck
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + " " + b
}

func (s Style) irreversible(w io.Writer, changes []plan.Change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", s.paint(red, "These cannot be undone:"))
	for _, c := range changes {
		fmt.Fprintf(w, "  %s  %s\n", Escape(c.Addr.String()), Escape(c.Irreversible))
	}
}

// Summary returns the last line of a plan: the numbers.
func (s Style) Summary(p *plan.Plan) string {
	n := p.Count()
	var parts []string
	for _, a := range summaryOrder() {
		if n[a] > 0 {
			sg := signOf(a)
			verb := "to " + sg.summary
			if a == plan.Reboot {
				verb = "reboot"
			}
			if a == plan.Drift || a == plan.Blocked {
				verb = sg.summary
			}
			parts = append(parts, s.paint(sg.color, fmt.Sprintf("%d %s", n[a], verb)))
		}
	}
	text := strings.Join(parts, ", ")
	switch {
	case text == "" && p.Unchanged == 0:
		text = "nothing to do"
	case text == "":
		text = "nothing to change, " + fmt.Sprintf("%d in sync", p.Unchanged)
	case p.Unchanged > 0:
		text += fmt.Sprintf("; %d in sync", p.Unchanged)
	}
	return s.paint(bold, "Plan:") + " " + text + "."
}
