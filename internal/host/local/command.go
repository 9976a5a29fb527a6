package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/host"
)

const (
	defaultTimeout = 5 * time.Minute
	searchPath     = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// pipeDelay is how long a stream that a remaining daemon holds open is read after the end of
	// the program.
	pipeDelay = 2 * time.Second
)

// Run implements host.Host. The program gets its own session. Processes that it leaves after a
// normal end continue to run. At the timeout, or when ctx ends, the program and every descendant
// are killed. The program ends with this process.
func (h *Host) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	cmd, err := h.command(c)
	if err != nil {
		return host.CommandResult{}, err
	}
	if err := h.waitLists(ctx, c); err != nil {
		return host.CommandResult{}, err
	}
	if c.Mutates {
		if err := h.op(host.OpRun, c.Argv[0]); err != nil {
			return host.CommandResult{}, err
		}
	}
	defer h.dirs.dropAll()
	return h.execute(ctx, cmd, c.Timeout, c.Watch)
}

// command prepares a program without starting it.
func (h *Host) command(c host.Command) (*exec.Cmd, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, errors.New("cannot run a command without a program: argv is empty")
	}
	if h.root != "/" && h.who.uid != 0 {
		return nil, fmt.Errorf("cannot run %q in the root %s without privileges; run as root: %w", c.Argv[0], h.root,
			host.ErrUnsupported)
	}
	if c.Dir == "" {
		c.Dir = "/"
	}
	path, err := h.lookProgram(c.Argv[0], c.Dir)
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{}
	if h.root != "/" {
		attr.Chroot = h.root
	}
	home := "/root"
	if c.User != "" {
		if attr.Credential, home, err = h.become(c.User); err != nil {
			return nil, err
		}
	}
	env := append([]string{"PATH=" + searchPath, "LANG=C.UTF-8", "HOME=" + home}, c.Env...)
	return newCmd(path, c.Argv, c.Dir, env, c.Stdin, attr), nil
}

func newCmd(path string, argv []string, dir string, env []string, stdin []byte, attr *syscall.SysProcAttr) *exec.Cmd {
	attr.Setsid = true
	attr.Pdeathsig = syscall.SIGKILL
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: slices.Clone(env), SysProcAttr: attr, WaitDelay: pipeDelay}
	if len(stdin) > 0 {
		cmd.Stdin = newReader(stdin)
	}
	return cmd
}

// execute runs a prepared command to its end or to its limit.
func (h *Host) execute(ctx context.Context, cmd *exec.Cmd, timeout time.Duration,
	watch func(bool, []byte)) (host.CommandResult, error) {
	return h.executeBy(ctx, cmd, timeout, watch, start)
}

// executeBy is execute with another way to start the command.
func (h *Host) executeBy(ctx context.Context, cmd *exec.Cmd, timeout time.Duration, watch func(bool, []byte),
	start func(*exec.Cmd) (<-chan error, error)) (host.CommandResult, error) {
	out := &outputs{watch: watch}
	cmd.Stdout, cmd.Stderr = stream{out, 0}, stream{out, 1}
	tree := &tree{mark: markName + rand.Text()}
	cmd.Env = append(cmd.Env, tree.mark)
	if mark := host.MarkOf(ctx); mark != "" {
		cmd.Env = append(cmd.Env, changeName+mark)
	}
	h.runs.enter(tree)
	defer h.runs.leave(tree)

	ended, err := start(cmd)
	if err != nil {
		return host.CommandResult{}, fmt.Errorf("cannot run %q: %w", cmd.Args[0], err)
	}
	h.runs.started(tree, cmd.Process.Pid)
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var res host.CommandResult
	select {
	case err = <-ended:
	case <-timer.C:
		res.TimedOut = true
		err = h.end(cmd, tree, ended)
	case <-ctx.Done():
		err = errors.Join(context.Cause(ctx), h.end(cmd, tree, ended))
	}
	res.Stdout, res.Stderr = out.kept(0), out.kept(1)
	res.ExitCode, res.Signal = howEnded(cmd.ProcessState)
	if err != nil {
		err = fmt.Errorf("cannot run %q: %w", cmd.Args[0], err)
	}
	return res, err
}

// start starts the command on a separate thread and returns a channel with its result. The kernel
// sends the parent-death signal when the thread that forked ends, so the thread must exist as long
// as the command.
func start(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- ofInterest(cmd.Wait())
		}
	}()
	return done, <-started
}

// ofInterest drops errors that only describe the end of the program: a status, or streams that a
// daemon still holds.
func ofInterest(err error) error {
	var status *exec.ExitError
	if errors.As(err, &status) || errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// end kills the whole tree and waits for the program.
func (h *Host) end(cmd *exec.Cmd, t *tree, ended <-chan error) error {
	if err := h.runs.kill(t); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end although it was killed", cmd.Process.Pid)
	}
}
