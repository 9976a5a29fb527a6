package once

import (
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/lang/builtin"
)

// builtinCall returns the command of a built-in action, with the time limit of --timeout.
func builtinCall(a builtin.Action, params map[string]string, f RunningFlags) (executor.Command, error) {
	cmd, err := wanted.Builtin(a, params)
	cmd.Timeout = f.Timeout
	return cmd, err
}
