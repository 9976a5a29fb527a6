package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/lang/query"
)

// verifyLimit is the time limit of one test of the condition of a task. verifyFor is the default of Scopes.VerifyFor.
// verifyPause is the time between two tests.
const (
	verifyLimit = 10 * time.Second
	verifyFor   = 15 * time.Second
	verifyPause = time.Second
)

// task executes an attempt of a task. It tests the condition, runs the command if it does not hold, and tests it again.
// The command is part of the verified content of the host, so the policy for commands of users does not concern it.
func (r *Runner) task(ctx context.Context, act machine.RunJob) machine.JobEnded {
	t := act.Job.Task
	def, err := r.declaredTask(act)
	switch {
	case err != nil:
		return refusedTask(act, err)
	case t.VerifyOnly && def.Verify == nil:
		return refusedTask(act, fmt.Errorf("cannot verify the task %s of %s: it has no verify block", t.Task, t.Scope))
	}
	why := error(nil)
	if def.Verify != nil {
		if why = r.Test(ctx, *def.Verify, verifyLimit); why == nil {
			return endedTask(act, fleet.TaskVerified, nil, nil)
		}
	}
	switch {
	case ctx.Err() != nil:
		return refusedTask(act, errors.New("the agent ended before the command began"))
	case t.VerifyOnly:
		return endedTask(act, fleet.TaskNotDone, why, nil)
	case r.Now().Unix() > t.Expires:
		return refusedTask(act, errors.New("the attempt expired before the command began"))
	}
	return r.taskCommand(ctx, act, def)
}

// declaredTask returns the task of the applied composition, if it has the digest of the attempt, or the stored undo.
func (r *Runner) declaredTask(act machine.RunJob) (query.ScopeTask, error) {
	t := act.Job.Task
	if act.Has == nil || r.Scopes.Read == nil {
		return query.ScopeTask{}, errors.New("no configuration is applied on this host, so it declares no task")
	}
	all, err := r.readScopes(*act.Has, act.Absent)
	if err != nil {
		return query.ScopeTask{}, err
	}
	undos, err := r.noteUndos(all, act.Has.Name) // before the command, so that it can be undone
	if err != nil {
		return query.ScopeTask{}, err
	}
	def, ok := all.Task(t.Scope, t.Task, act.Has.Name)
	if t.Undo {
		return undoOf(t, ok, undos)
	}
	switch {
	case !ok:
		err = fmt.Errorf("the applied configuration declares no task %s of %s for this target", t.Task, t.Scope)
	case def.Digest != t.Digest:
		err = fmt.Errorf("the applied configuration declares the task %s of %s with another content", t.Task, t.Scope)
	}
	return def, err
}

// undoOf returns the undo of a task that was removed. declared means that the applied configuration still has the task.
func undoOf(t *fleet.TaskAttempt, declared bool, undos map[string]undo) (query.ScopeTask, error) {
	stored, ok := undos[t.Scope+"/"+t.Task]
	switch {
	case declared:
		return query.ScopeTask{}, fmt.Errorf("the applied configuration still declares the task %s of %s", t.Task, t.Scope)
	case !ok:
		return query.ScopeTask{}, fmt.Errorf("this target has never applied an undo of the task %s of %s", t.Task, t.Scope)
	case stored.Task.Digest != t.Digest:
		return query.ScopeTask{}, fmt.Errorf("the last undo of the task %s of %s that this target applied is another one",
			t.Task, t.Scope)
	}
	return stored.Task, nil
}

// taskCommand runs the command of a task. The history of the host records it as a command of the fleet.
func (r *Runner) taskCommand(ctx context.Context, act machine.RunJob, def query.ScopeTask) machine.JobEnded {
	t := act.Job.Task
	x, done, err := r.Open(ctx)
	if err != nil {
		return refusedTask(act, err)
	}
	defer func() { _ = done() }()
	cx, ok := x.(executor.Commander)
	if !ok {
		return refusedTask(act, errors.New("the executor of this host only applies step lists"))
	}
	cmd := executor.Command{Argv: [][]string{def.Command}, Stdin: []byte(def.Input),
		Timeout: time.Duration(def.Timeout) * time.Second,
		Env:     []string{"FETTLE_TASK_SCOPE=" + t.Scope, "FETTLE_TASK_FENCE=" + strconv.FormatUint(t.Fence, 10)}}
	what := "task "
	if t.Undo {
		what = "undo of task "
	}
	o := executor.Options{User: act.Job.By, From: fromFleet(""), Command: what + t.Scope + " " + t.Task,
		Version: r.Version}
	res, err := cx.Command(ctx, cmd, o, nil)
	switch {
	case res == nil || res.ID == 0:
		return refusedTask(act, err)
	case ctx.Err() != nil:
		return endedTask(act, "", errors.New("the agent ended during the command"), res)
	case err == nil && res.TimedOut:
		err = fmt.Errorf("the command did not end within %s", cmd.Timeout)
	case err == nil && !res.OK():
		err = fmt.Errorf("the command ended with exit code %d", res.Exit)
	}
	if err != nil {
		return endedTask(act, fleet.TaskFailed, err, res)
	}
	return r.verifiedTask(ctx, act, def, res)
}

// verifiedTask tests the condition after the command succeeded.
func (r *Runner) verifiedTask(ctx context.Context, act machine.RunJob, def query.ScopeTask,
	res *executor.CommandResult) machine.JobEnded {
	if def.Verify == nil {
		return endedTask(act, fleet.TaskDone, nil, res)
	}
	over := time.After(cmp.Or(r.Scopes.VerifyFor, verifyFor))
	for {
		err := r.Test(ctx, *def.Verify, verifyLimit)
		if err == nil {
			return endedTask(act, fleet.TaskDone, nil, res)
		}
		err = fmt.Errorf("the command succeeded, but the condition of verify does not hold: %w", err)
		select {
		case <-ctx.Done():
			return endedTask(act, "", err, res)
		case <-over:
			return endedTask(act, fleet.TaskFailed, err, res)
		case <-time.After(verifyPause):
		}
	}
}

// endedTask is the result of an attempt. An empty outcome means that the agent ended, and that the result is unknown.
func endedTask(act machine.RunJob, outcome fleet.TaskOutcome, err error, res *executor.CommandResult) machine.JobEnded {
	out := machine.JobEnded{Answer: fleet.JobAnswer{ID: act.Job.ID, Task: outcome, Interrupted: outcome == ""}}
	if res != nil {
		out.Answer.Result = resultOfCommand(res)
	}
	if err != nil {
		out.Answer.Error = shortError(err)
	}
	return out
}

// refusedTask is the result of an attempt whose command was not started.
func refusedTask(act machine.RunJob, err error) machine.JobEnded {
	if err == nil {
		err = errors.New("cannot run the command: the executor returned no result")
	}
	out := endedTask(act, fleet.TaskRefused, err, nil)
	out.Locked = errors.Is(err, executor.ErrLocked)
	return out
}
