package listgraph

import (
	"strconv"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/step"
)

// MaxSteps is the number of steps that a picture can have.
const MaxSteps = 2000

// item is a step of a list or of a run, with its look.
type item struct {
	addr   addr.Addr
	step   step.Step // none if only the address is known
	state  string    // of the configuration, such as file.motd
	states []string  // all states that have this step
	after  []string  // states that the source orders before its state
	source string    // file:line
	cause  []addr.Addr
	look   graph.State
	detail string // outcome and error
}

func (it *item) label() string {
	label := string(it.addr)
	if k := it.step.Phase(); k > 1 {
		label += " (phase " + strconv.Itoa(k) + ")"
	}
	return label
}
