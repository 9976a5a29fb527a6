package enrol

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// longestOutput is the largest part of the output of a failed command that its error shows, in bytes.
const longestOutput = 500

// run runs commands on the host until one fails. The error contains the end of the output of the failed
// command.
func (e *enrolment) run(ctx context.Context, doing string, c executor.Command) (*executor.CommandResult, error) {
	c.Action, c.Timeout = "enrol", 10*time.Minute
	res, err := e.host.Access.Command(ctx, c, e.host.Options, nil)
	if err == nil && !res.OK() {
		output := strings.TrimSpace(cmp.Or(res.Stderr, res.Stdout))
		if i := len(output) - longestOutput; i > 0 {
			output = "…" + strings.ToValidUTF8(output[i:], "")
		}
		err = fmt.Errorf("cannot %s: it ended with %d: %s", doing, res.Exit, output)
	}
	return res, err
}

// ask runs a program that changes nothing, and reports whether it succeeds.
func (e *enrolment) ask(ctx context.Context, argv ...string) (ok bool, stdout string, err error) {
	c := executor.Command{Action: "enrol", Argv: [][]string{argv}, ReadOnly: true, Timeout: time.Minute}
	res, err := e.host.Access.Command(ctx, c, e.host.Options, nil)
	if err != nil {
		return false, "", err
	}
	return res.OK(), res.Stdout, nil
}
