package agent_test

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/agent"
)

func Example() {
	var w agent.Watcher = agent.NoWatcher{Reason: "nothing can be watched here"}
	fmt.Println(w.Watch(agent.Managed{Paths: []string{"/etc/motd"}}))
	// Output: nothing can be watched here
}
