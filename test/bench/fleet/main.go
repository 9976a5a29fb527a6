package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"fettle.dev/fettle/test/bench/machine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "limit" {
		return serveLimit(args[1])
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.fettle); err != nil {
		return fmt.Errorf("cannot measure fettle: %w; build it: make build", err)
	}
	if err := manyFiles(); err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, s.most, fmt.Errorf("all of it took more than %s: give more to -most, or less to -agents", s.most))
	defer stop()
	lessCollecting()
	var all []result
	for _, n := range s.agents {
		r, err := measure(ctx, s, n)
		if err != nil {
			return fmt.Errorf("with %d agents: %w", n, err)
		}
		all = append(all, r)
	}
	return publish(s, all)
}

// lessCollecting has the process of all agents look for memory to free more seldom than one
// agent would: to look through the memory of thousands for the sake of one takes processor
// time that no agent takes from its hub.
func lessCollecting() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(4 << 30)
}

// manyFiles lets this process, and those that it starts, have as many files open as it
// may, and more where nobody forbids it.
func manyFiles() error {
	const want = 1 << 18
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("cannot read how many files may be open: %w", err)
	}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: want, Max: max(l.Max, want)}) == nil {
		return nil
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("cannot have many files open: %w", err)
	}
	return nil
}

func publish(s settings, all []result) error {
	facts, err := machine.Describe(s.date, os.TempDir())
	if err != nil {
		return err
	}
	facts = append(facts, machine.Fact{Name: "fettle", Value: machine.Output(s.fettle, "version")})
	text := report(s, all, facts)
	fmt.Println(text)
	if s.out == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(s.out, "performance-fleet.md"), []byte(text), 0o644)
}

// await looks until something is so, and gives up with the context.
func await(ctx context.Context, what string, is func() bool) error {
	for !is() {
		if err := pause(ctx, shortly); err != nil {
			return errors.Join(fmt.Errorf("cannot wait any longer for %s", what), err)
		}
	}
	return nil
}
