package render

import (
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/plan"
)

// later prints the changes after a plan: later phases, and states with values that only the run
// determines.
func (s Style) later(w io.Writer, later []plan.Later) {
	if len(later) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThen, when this is done:\n\n")
	width := 0
	for _, l := range later {
		width = max(width, min(columns(laterName(l)), addrWidth))
	}
	for _, l := range later {
		sg, why := signOf(l.Action), Escape(l.Why)
		if l.Action == "" {
			sg, why = sign{"*", cyan, ""}, "(known after apply) "+why
		}
		fmt.Fprintf(w, "  %s %s  %s\n", s.paint(sg.color, sg.symbol), pad(laterName(l), width), s.paint(dim, why))
	}
}

func laterName(l plan.Later) string {
	if l.Addr != "" {
		return Escape(l.Addr.String())
	}
	if l.State == "" {
		return "more"
	}
	return Escape(l.State)
}

// runs names the runs of one apply: "run 7", or "runs 7 and 8" for several phases.
func runs(run int, all []int) string {
	if len(all) < 2 {
		return fmt.Sprintf("run %d", run)
	}
	var names []string
	for _, n := range all[:len(all)-1] {
		names = append(names, fmt.Sprint(n))
	}
	return fmt.Sprintf("runs %s and %d", strings.Join(names, ", "), all[len(all)-1])
}
