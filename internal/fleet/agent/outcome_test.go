package agent

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestNoSlot: a run that got no slot of a lock is tried again, and is not a failure. In a later phase it is one.
func TestNoSlot(t *testing.T) {
	err := fmt.Errorf("%w: after 10m", executor.ErrNoSlot)
	for want, rep := range map[machine.Result]*executor.Report{machine.Locked: nil, machine.Failed: {Run: 3}} {
		if got := resultOf(t.Context(), rep, err); got != want {
			t.Errorf("the result with the report %+v is %s, want %s", rep, got, want)
		}
	}
}
