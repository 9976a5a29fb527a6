package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
)

var (
	_ executor.Commander = (*Executor)(nil)
	_ executor.Files     = (*Executor)(nil)
)

// Command implements executor.Commander.
func (x *Executor) Command(ctx context.Context, c executor.Command, o executor.Options,
	show func(executor.Output)) (*executor.CommandResult, error) {
	if len(c.Argv) == 0 {
		return nil, fmt.Errorf("cannot run a command without a program; run: fettle run -- PROGRAM …")
	}
	if !c.ReadOnly {
		l, err := x.files.enterCommand(ctx, o)
		if err != nil {
			return nil, err
		}
		defer l.Close()
	}
	h, ctx, err := x.files.slotsOf(ctx, c, o, show)
	if err != nil {
		return nil, err
	}
	defer h.release()
	x.keys.hide(c.Hide)
	if err := x.keys.offer(c.Secrets, blobsOf(c.Sealed)); err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = executor.DefaultTimeout
	}
	rec, err := x.store.BeginCommand(x.files.record(c, o))
	if err != nil {
		return nil, err
	}
	res, err := x.files.execute(ctx, c, show)
	err = h.explain(ctx, err)
	res.ID = rec.ID
	x.names.Forget() // it may have made accounts
	return res, joinRecord(err, x.store.EndCommand(x.files.ended(rec, res, err)))
}

// slotsOf acquires the slots that a command needs. The command uses the returned context. The caller must release them.
func (x *files) slotsOf(ctx context.Context, c executor.Command, o executor.Options,
	show func(executor.Output)) (*hold, context.Context, error) {
	h := x.runs.hold(ctx, o, func(e executor.Event) {
		if show != nil {
			show(executor.Output{Stderr: true, Text: []byte("fettle: " + e.Text + "\n")})
		}
	})
	if c.ReadOnly && len(c.Locks) > 0 {
		return h, ctx, errors.New("cannot run a command with locks that changes nothing: it needs no lock")
	}
	under, _, err := h.acquire(ctx, c.Locks)
	return h, under, err
}

// joinRecord combines the error of a command with the error of its record in the history.
func joinRecord(err, record error) error {
	switch {
	case record == nil:
		return err
	case err == nil:
		return record
	}
	return fmt.Errorf("%w; and %w", err, record)
}

// enterCommand takes the lock, and settles what earlier runs and commands left. A
// frozen machine is refused.
func (x *files) enterCommand(ctx context.Context, o executor.Options) (io.Closer, error) {
	l, err := x.runs.enter(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	if err := x.runs.thawed(); err != nil && !o.IgnoreFreeze {
		_ = l.Close()
		return nil, fmt.Errorf("%w; commands that only read can run with --read-only, and all others with --ignore-freeze",
			err)
	}
	if err := x.store.RecoverCommands(); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func blobsOf(sealed map[string][]byte) map[string]kind.Blob {
	out := map[string]kind.Blob{}
	for d, b := range sealed {
		out[d] = kind.Blob{Digest: d, Size: int64(len(b)), Data: b}
	}
	return out
}

// record is the entry of a command in the history. It omits the environment, which may
// contain private data.
func (x *files) record(c executor.Command, o executor.Options) journal.Command {
	now := x.now()
	rec := journal.Command{Action: c.Action, Dir: c.Dir, As: c.User, ReadOnly: c.ReadOnly, User: o.User, From: o.From,
		Typed:   x.keys.mask(o.Command),
		Version: o.Version, PID: os.Getpid(), Started: now.UnixNano(), Deadline: now.Add(c.Timeout + time.Minute).UnixNano()}
	for _, argv := range c.Argv {
		words := make([]string, len(argv))
		for i, w := range argv {
			words[i] = x.keys.mask(w)
		}
		rec.Argv = append(rec.Argv, words)
	}
	return rec
}

func (x *files) ended(rec journal.Command, res *executor.CommandResult, err error) journal.Command {
	rec.Outcome, rec.Exit, rec.Signal = journal.Succeeded, res.Exit, res.Signal
	rec.Stdout, rec.Stderr = inShort(res.Stdout), inShort(res.Stderr)
	switch {
	case errors.Is(err, context.Canceled):
		rec.Outcome, rec.Error = journal.Interrupted, x.keys.mask(err.Error())
	case err != nil:
		rec.Outcome, rec.Error = journal.Failed, x.keys.mask(err.Error())
	case res.TimedOut:
		rec.Outcome, rec.TimedOut = journal.Failed, true
	case !res.OK():
		rec.Outcome = journal.Failed
	}
	return rec
}

// keptOutput is how much of each stream the history keeps, in bytes: half from
// either end.
const keptOutput = 32 << 10

func inShort(text string) string {
	if len(text) <= keptOutput {
		return text
	}
	cut := len(text) - keptOutput
	return text[:keptOutput/2] + "\n[… " + strconv.Itoa(cut) + " bytes cut …]\n" + text[len(text)-keptOutput/2:]
}

// execute runs one command after the other, as long as they succeed and there is
// time.
func (x *files) execute(ctx context.Context, c executor.Command,
	show func(executor.Output)) (*executor.CommandResult, error) {
	began := x.now()
	all := &executor.CommandResult{Exit: -1}
	run := host.Command{Dir: c.Dir, Env: c.Env, User: c.User, Mutates: !c.ReadOnly, Stdin: c.Stdin}
	if show != nil {
		run.Watch = func(stderr bool, p []byte) { show(executor.Output{Stderr: stderr, Text: p}) }
	}
	for _, argv := range c.Argv {
		run.Argv, run.Timeout = argv, max(c.Timeout-x.now().Sub(began), time.Millisecond)
		res, err := x.host.Run(ctx, run)
		all.Stdout, all.Stderr = all.Stdout+string(res.Stdout), all.Stderr+string(res.Stderr)
		all.Exit, all.Signal, all.TimedOut, all.Duration = res.ExitCode, res.Signal, res.TimedOut, x.now().Sub(began)
		if err != nil {
			return all, x.keys.masked(err)
		}
		if run.Stdin = nil; !all.OK() {
			break
		}
	}
	return all, nil
}

// Commands implements executor.Commander.
func (x *Executor) Commands(context.Context) ([]journal.Command, error) { return x.store.Commands() }
