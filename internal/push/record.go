package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/window"
)

// Order describes the rollout that a user wants.
type Order struct {
	Strategy rollout.Strategy
	Content  string                       // a digest: the same content is the same change
	Cause    string                       // for users: "commit abc123: add a port"
	Targets  []string                     // names, sorted
	Labels   map[string]map[string]string // of the targets, for failure domains
	// Windows are the windows of targets. Targets without an entry can be changed at any time.
	Windows  map[string][]window.Window
	Afters   []After
	Parallel int  // the largest number of tasks at the same time
	Resume   bool // continue although the rollout paused
	// Operator is the name of the user of the workstation. Asks means that the operator can answer questions while the
	// rollout runs. Otherwise the command ends when the rollout waits only for the operator, and Answers contains the
	// decisions of the next command.
	Operator string
	Asks     bool
	Answers  []Answer
}

// After lets targets wait until a module is ready on other targets.
type After struct {
	Module  string
	Waiting []string // targets with a module that waits
	On      []string // selected targets with Module
	Least   int      // how many targets must be ready, at least 1
}

// Answer is a decision of the operator about an approval gate of the current wave.
type Answer struct {
	Gate    string
	Approve bool // false: the change is bad
}

// Record is one entry of the log: the begin of a rollout, an event, or the run that a target had before.
type Record struct {
	Begin *Begin         `json:"begin,omitempty"`
	Event *rollout.Event `json:"event,omitempty"`
	Base  *Base          `json:"base,omitempty"`
}

// Begin is the first record of a rollout.
type Begin struct {
	Strategy string   `json:"strategy"`
	Content  string   `json:"content"`
	Cause    string   `json:"cause"`
	Targets  []string `json:"targets"`
}

// Base is the last run of a target before its change. Run 0 means that nothing was applied.
type Base struct {
	Target string `json:"target"`
	Run    int    `json:"run"`
}

// begin returns the first record of an order.
func (o Order) begin() Begin {
	return Begin{Strategy: o.Strategy.Name, Content: o.Content, Cause: o.Cause, Targets: slices.Clone(o.Targets)}
}

// errRecord means that a line of the log is not a record.
var errRecord = errors.New("not a record of a rollout")

// parseRecord reads one line of a log.
func parseRecord(line []byte) (r Record, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: %w", errRecord, err)
	}
	if one(r.Begin != nil)+one(r.Event != nil)+one(r.Base != nil) != 1 {
		return r, errRecord
	}
	return r, nil
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
