package cli

import (
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/lang/builtin"
)

// builtinCall is what an action comes to that is built in, for as long as --timeout says.
func builtinCall(a builtin.Action, params map[string]string, f runningFlags) (executor.Command, error) {
	cmd, err := wanted.Builtin(a, params)
	cmd.Timeout = f.timeout
	return cmd, err
}
