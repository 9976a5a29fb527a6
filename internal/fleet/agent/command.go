package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/lang/builtin"
)

// Commander is an Enforcer that can also execute commands of jobs.
type Commander interface {
	// Command executes the command of a job once and returns its result. When ctx ends, it stops
	// the whole process tree. It can run concurrently with Run.
	Command(ctx context.Context, act machine.RunJob) machine.JobEnded
}

var _ Commander = (*Runner)(nil)

// Command implements Commander. The command becomes a part of the history of the target, like a
// command of fettle run.
func (r *Runner) Command(ctx context.Context, act machine.RunJob) machine.JobEnded {
	if act.Job.Task != nil {
		return r.task(ctx, act)
	}
	var admitted Admission
	if r.Admit != nil {
		var err error
		if admitted, err = r.Admit(act.Job); err != nil {
			return refusedJob(ctx, act, err)
		}
	}
	out := r.execute(ctx, act, admitted.Signer)
	if out.Locked && admitted.Release != nil { // the state machine tries the job again
		if err := admitted.Release(); err != nil {
			return refusedJob(ctx, act, err)
		}
	}
	return out
}

func (r *Runner) execute(ctx context.Context, act machine.RunJob, signer string) machine.JobEnded {
	cmd, err := r.commandOf(ctx, act)
	if err != nil {
		return refusedJob(ctx, act, err)
	}
	x, done, err := r.Open(ctx)
	if err != nil {
		return refusedJob(ctx, act, err)
	}
	defer func() { _ = done() }()
	cx, ok := x.(executor.Commander)
	if !ok {
		return refusedJob(ctx, act, errors.New("cannot run commands on this host: its executor only applies step lists"))
	}
	o := executor.Options{User: act.Job.By, From: fromFleet(signer), Command: jobCommandLine(*act.Job.Run),
		Version: r.Version, IgnoreFreeze: act.Job.Run.IgnoreFreeze}
	res, err := cx.Command(ctx, cmd, o, nil)
	if res == nil || res.ID == 0 {
		return refusedJob(ctx, act, err)
	}
	out := machine.JobEnded{Answer: fleet.JobAnswer{ID: act.Job.ID, Interrupted: ctx.Err() != nil,
		Result: resultOfCommand(res)}}
	if err != nil {
		out.Answer.Error = shortError(err)
	}
	return out
}

// refusedJob is the result of a job whose command was not started.
func refusedJob(ctx context.Context, act machine.RunJob, err error) machine.JobEnded {
	if err == nil {
		err = errors.New("cannot run the command: the executor returned no result")
	}
	return machine.JobEnded{
		Answer: fleet.JobAnswer{ID: act.Job.ID, Error: shortError(err), Interrupted: ctx.Err() != nil},
		Locked: errors.Is(err, executor.ErrLocked),
	}
}

// commandOf returns the command of a job: its words, a built-in action, or an action of a module on
// this target.
func (r *Runner) commandOf(ctx context.Context, act machine.RunJob) (executor.Command, error) {
	c := *act.Job.Run
	if err := c.Check(); err != nil {
		return executor.Command{}, err
	}
	var cmd executor.Command
	var err error
	switch b := builtin.ActionOf(c.Action); {
	case c.Action == "":
		cmd = executor.Command{Argv: [][]string{c.Program()}, Dir: c.Dir, User: c.User, ReadOnly: c.ReadOnly,
			Locks: c.Locks}
	case b != nil:
		cmd, err = wanted.Builtin(*b, c.Params)
	default:
		cmd, err = r.declared(ctx, act)
	}
	if c.Timeout > 0 {
		cmd.Timeout = time.Duration(c.Timeout)
	}
	return cmd, err
}

// declared returns an action that an applied module declares, compiled with the current facts. A
// value for a secret parameter is refused, because hubs store jobs in plain text.
func (r *Runner) declared(ctx context.Context, act machine.RunJob) (executor.Command, error) {
	name := act.Job.Run.Action
	if act.Has == nil || r.Call == nil {
		return executor.Command{},
			fmt.Errorf("cannot run the action %.80q: no module is applied on this host, so no module declares it", name)
	}
	facts, err := r.Facts(ctx)
	if err != nil {
		return executor.Command{}, fmt.Errorf("cannot read the facts of this host: %w", err)
	}
	tree, closing, err := r.Content.Tree(*act.Has, act.Absent)
	if err != nil {
		return executor.Command{}, err
	}
	defer func() { _ = closing() }()
	call, ds := r.Call(compile.Input{Tree: tree, Target: act.Has.Name, Facts: facts, NeedSecrets: true}, name,
		act.Job.Run.Params, false)
	for _, p := range call.Action.Params {
		if _, given := act.Job.Run.Params[p.Name]; given && p.Secret {
			return executor.Command{}, fmt.Errorf(
				"cannot run %q: a job must not contain a value for the secret parameter %q, because hubs store jobs in plain text. Use fettle run, "+
					"and replace the secret that this job contained", name, p.Name)
		}
	}
	if err := ds.Err(); err != nil {
		return executor.Command{}, err
	}
	return wanted.Command(call), nil
}

// jobCommandLine returns the command line of the job, for the history.
func jobCommandLine(c fleet.Command) string {
	words := []string{"fettle", "job", "run"}
	if c.Action == "" {
		for _, name := range c.Locks {
			words = append(words, "--lock", name)
		}
		return strings.Join(append(append(words, "--"), c.Program()...), " ")
	}
	words = append(words, c.Action)
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		words = append(words, name+"="+c.Params[name])
	}
	return strings.Join(words, " ")
}
