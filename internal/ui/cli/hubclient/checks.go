package hubclient

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/ui/cli"
)

// ShowChecks shows results of checks of scopes on one target as a table.
func ShowChecks(s *cli.Printer, checks []fleet.CheckResult) {
	rows := [][]string{}
	for _, r := range checks {
		rows = append(rows, []string{r.Scope, r.Check, string(r.Outcome), AgoText(s, r.Since), r.Text})
	}
	s.Style().Table(s.App.Stdout, []string{"SCOPE", "CHECK", "RESULT", "SINCE", "REASON"}, rows)
}
