package wanted

import (
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/lang/builtin"
)

// Command converts a compiled action of a repository. The result shares memory with call.
func Command(call compile.ActionCall) executor.Command {
	cmd := executor.Command{Action: call.Action.ID(), ReadOnly: !call.Action.Changes, Secrets: call.Result.Secrets,
		Locks: call.Locks, Sealed: map[string][]byte{}}
	for _, st := range call.Result.List {
		cmd.Argv = append(cmd.Argv, st.Args[1:])
		cmd.Env, cmd.Dir, cmd.User = st.All("env"), st.Get("cwd"), st.Get("user")
		d, err := time.ParseDuration(st.Get("timeout"))
		if err != nil || d <= 0 {
			d = executor.DefaultTimeout
		}
		cmd.Timeout += d
		for _, digest := range st.Blobs() {
			cmd.Sealed[digest] = call.Result.Blobs[digest].Data
		}
	}
	cmd.Env = append(cmd.Env, call.Env...)
	return cmd
}

// Builtin converts a built-in action, which every target has.
func Builtin(a builtin.Action, params map[string]string) (executor.Command, error) {
	if err := a.Check(params).Err(); err != nil {
		return executor.Command{}, err
	}
	return executor.Command{Action: a.Name, Argv: a.Argv(builtin.ValuesOf(a.Params, params)),
		Env: []string{"DEBIAN_FRONTEND=noninteractive"}, ReadOnly: !a.Changes}, nil
}
