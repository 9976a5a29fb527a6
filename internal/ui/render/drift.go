package render

import (
	"fmt"
	"io"

	"fettle.dev/fettle/internal/plan"
)

// Drift prints the differences from the applied state, or that there are none.
func (s Style) Drift(w io.Writer, p *plan.Plan, o PlanOptions) {
	if len(p.Changes) == 0 && p.Base == 0 {
		fmt.Fprintln(w, "No configuration is applied on this host.")
		return
	}
	if len(p.Changes) == 0 {
		all := "All " + Count(p.Unchanged, "address")
		if p.Unchanged == 1 {
			all = "The one address is"
		}
		fmt.Fprintf(w, "%s as applied in %s.\n", s.paint(green, all), RunName(p.Base))
		return
	}
	fmt.Fprintf(w, "Drift from %s\n\n", RunName(p.Base))
	o.Drift = true
	s.changes(w, p.Changes, o)
	fmt.Fprintf(w, "\n%s %s; %d as applied. To repair: fettle apply\n", s.paint(bold, "Drift:"),
		s.paint(purple, Count(len(p.Changes), "address")), p.Unchanged)
}
