package once

import (
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// outcomeOfCommand returns the result of a command, without its output.
func outcomeOfCommand(r *executor.CommandResult, err error) round.Outcome {
	if err != nil || r == nil {
		o := cli.Failed(err)
		o.Said = true
		return o
	}
	o := round.Outcome{Status: fanout.OK, Line: "exit 0", Said: true}
	switch {
	case r.OK():
		return o
	case r.TimedOut:
		o.Line = "ended at its timeout"
	case r.Exit < 0:
		o.Line = "ended by a signal: " + r.Signal
	default:
		o.Line = fmt.Sprintf("exit %d", r.Exit)
	}
	o.Status, o.Body, o.Err = fanout.Failed, o.Line+"\n", errors.New("the command failed: "+o.Line)
	return o
}

// outputText returns the output of a command for users.
func outputText(r *executor.CommandResult) string {
	var b strings.Builder
	for _, text := range []string{r.Stdout, r.Stderr} {
		for line := range strings.Lines(text) {
			b.WriteString(render.Escape(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	return b.String()
}
