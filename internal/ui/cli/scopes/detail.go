package scopes

import (
	"cmp"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func showScope(s *cli.Printer, d document.ScopeDetail) {
	x := d.Scope
	s.Printf("%s: %s", x.ID, x.Verdict)
	if x.Since > 0 {
		s.Printf(" since %s", s.Moment(x.Since))
	}
	if x.Description != "" {
		s.Printf("; %s", x.Description)
	}
	s.Printf("\n")
	if d.Source != "" {
		s.Printf("Declared in %s%s\n", d.Source, madeOf(d))
	}
	for _, r := range x.Reasons {
		s.Printf("- %s: %s\n", r.Verdict, r.Describe())
	}
	if len(x.Scopes) > 0 {
		s.Printf("\nMembers: %s\n", strings.Join(x.Scopes, ", "))
	}
	if len(d.Members) > 0 {
		s.Printf("\n")
		var rows [][]string
		for _, m := range d.Members {
			rows = append(rows, []string{m.Name, m.State.Describe()})
		}
		s.Style().Table(s.App.Stdout, []string{"MEMBER", "STATE"}, rows)
	}
	for _, c := range d.Checks {
		showCheck(s, c)
	}
	if len(d.Tasks) > 0 {
		s.Printf("\n")
		showTaskList(s, d.Tasks)
	}
}

// madeOf describes the element of for_each that made a scope, "" without one.
func madeOf(d document.ScopeDetail) string {
	if d.Element == "" {
		return ""
	}
	text := fmt.Sprintf(": element %q of for_each", d.Element)
	if d.Parameters != "" {
		text += " " + d.Parameters
	}
	return render.Escape(text)
}

func showCheck(s *cli.Printer, c document.ScopeCheck) {
	header := "TARGET"
	if c.ByHub() {
		header = "HUB"
		s.Printf("\nCheck %s: %s; the leading hub tests it\n", c.Name, c.Verdict)
	} else {
		s.Printf("\nCheck %s: %s; succeeds on %d of %d targets, %d required; quorum %s\n", c.Name, c.Verdict, c.OK,
			c.OK+c.Failed+c.Pending+c.Unknown, c.Required, c.Quorum)
	}
	var rows [][]string
	for _, t := range c.Testers {
		outcome := cmp.Or(string(t.Outcome), "unknown")
		if t.Absent != "" {
			outcome = t.Absent.Describe()
		}
		rows = append(rows, []string{t.Name, outcome, since(s, t.Since), t.Text})
	}
	s.Style().Table(s.App.Stdout, []string{header, "RESULT", "SINCE", "REASON"}, rows)
}
