package once

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	hostreboot "fettle.dev/fettle/internal/fleet/agent/reboot"
)

// rebootWaits is the output of the command if the agent of the host reboots it.
const rebootWaits = "the agent reboots this host when it has a slot"

// rebootCommand returns the command that reboots a host, or that requests this from its agent.
func rebootCommand(withoutSlot bool, timeout time.Duration) executor.Command {
	argv := []string{"systemctl", "reboot"}
	if !withoutSlot {
		script := fmt.Sprintf(`test -d %[1]s || exec systemctl reboot; `+
			`echo "0 $(($(date +%%s) + %[3]d))" >%[1]s/.%[2]s && mv %[1]s/.%[2]s %[1]s/%[2]s && echo '%[4]s'`,
			hostreboot.Requests, hostreboot.CommandRequest, int(timeout.Seconds()), rebootWaits)
		argv = []string{"sh", "-c", script}
	}
	return executor.Command{Action: "reboot", Argv: [][]string{argv}, Timeout: time.Minute}
}

// rebootStatus returns what the agent of a host waits for, or that it does not act.
func rebootStatus(ctx context.Context, x executor.Executor) string {
	var b bytes.Buffer
	if f, ok := x.(executor.Files); ok {
		if _, err := f.Get(ctx, hostreboot.StatusFile, &b); err == nil {
			return strings.TrimSpace(b.String())
		}
	}
	return "the agent of the host did not react. Use --without-slot to reboot the host without its agent"
}
