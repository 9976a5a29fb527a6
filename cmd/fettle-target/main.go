// Command fettle-target is the binary that fettle copies to a host that it reaches over SSH. It has
// the engine, the remote end of the protocol, and emergency commands for a user on the host's own
// console: its history, and rollback. It does not have the language and fleets. It is embedded in
// fettle.
//
//	~/.cache/fettle/fettle-DIGEST log
//	~/.cache/fettle/fettle-DIGEST rollback
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/secret/vault"
)

// version is set by the linker, to that of the fettle which carries this program.
var version = "devel"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	var err error
	switch {
	case len(args) > 0 && args[0] == ssh.ServeCommand:
		signal.Ignore(syscall.SIGHUP) // a lost connection does not stop the run
		err = serve(ctx, args[1:])
	case len(args) > 0 && args[0] == here.WatchCommand:
		err = watch(ctx, args[1:])
	default:
		return console().Main(ctx, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fettle:", err)
		return 1
	}
	return 0
}

// common returns the flags that select the host.
func common(name string) (*flag.FlagSet, func() (here.Machine, error)) {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // the error contains it
	root := f.String("root", "/", "")
	state := f.String("state", "", "")
	identity := f.String("identity", os.Getenv("FETTLE_IDENTITY"), "")
	return f, func() (here.Machine, error) {
		m := here.Machine{Identity: *identity}
		var err error
		if m.Root, err = filepath.Abs(*root); err != nil {
			return m, fmt.Errorf("cannot find --root %q: %w", *root, err)
		}
		if *state == "" {
			*state = filepath.Join(m.Root, "var/lib/fettle")
		}
		if m.State, err = filepath.Abs(*state); err != nil {
			return m, fmt.Errorf("cannot find --state %q: %w", *state, err)
		}
		m.Identities = func() (vault.Identities, error) { return here.Identities(m.Identity, os.Getenv, m.Root) }
		return m, nil
	}
}

type stdio struct{ io.Reader }

func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return os.Stdout.Close() }

func serve(ctx context.Context, args []string) error {
	f, machine := common(ssh.ServeCommand)
	from := f.String("from", "", "")
	if err := f.Parse(args); err != nil {
		return fmt.Errorf("cannot read the flags: %w", err)
	}
	m, err := machine()
	if err != nil {
		return err
	}
	s := here.Server{
		Machine: m, Version: version, User: caller(), From: here.From(*from, os.Getenv), Now: time.Now,
		Hostname: os.Hostname, Facts: here.Facts, Beside: here.Beside,
		Open: open,
	}
	return wire.Serve(ctx, stdio{os.Stdin}, s.Served(ctx))
}

func watch(ctx context.Context, args []string) error {
	f, machine := common(here.WatchCommand)
	from := f.Int64("from", 0, "")
	if err := f.Parse(args); err != nil {
		return fmt.Errorf("cannot read the flags: %w", err)
	}
	m, err := machine()
	if err != nil {
		return err
	}
	if _, err := os.Stat(m.State); err != nil {
		return nil // nothing was ever armed
	}
	x, done, err := here.Open(m, local.Build(version))
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	o := executor.Options{User: caller(), From: "service", Command: "fettle " + here.WatchCommand, Version: version}
	return here.Watch(ctx, x, o, time.Unix(0, *from), time.Now)
}

func open(_ context.Context, m here.Machine) (executor.Executor, func() error, error) {
	return here.Open(m, local.Build(version))
}

func caller() string { return here.User(os.Getenv, login) }

func login() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// interruptible cancels its context at the first signal. The second one ends the process, as if it
// were not handled. A closed reader becomes an error of the write.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if sig, ok := <-ch; ok {
			signal.Reset()
			cancel(here.Interrupted{By: sig})
		}
	}()
	return ctx, func() { signal.Stop(ch); close(ch); cancel(nil) }
}
