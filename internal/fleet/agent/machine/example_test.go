package machine_test

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/agent/machine"
)

func Example() {
	m := machine.New(machine.Config{Target: target, Boot: "b1", Version: "1.0"}, machine.StoredState{}, 0, 0)
	a := assignment(1, "modules/web=1")
	for _, e := range []machine.Event{machine.Started{}, machine.Offered{Assignment: a},
		machine.Fetched{Epoch: 1, Generation: 1}} {
		for _, job := range m.Step(e, machine.Now{Wall: 1}) {
			fmt.Printf("%T after %T\n", job, e)
		}
	}
	// Output:
	// machine.Append after machine.Started
	// machine.Wake after machine.Started
	// machine.Persist after machine.Offered
	// machine.Append after machine.Offered
	// machine.Fetch after machine.Offered
	// machine.Wake after machine.Offered
	// machine.Persist after machine.Fetched
	// machine.Retain after machine.Fetched
	// machine.Run after machine.Fetched
	// machine.Wake after machine.Fetched
}
