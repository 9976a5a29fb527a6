package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	if isShare(args) {
		return serveShare(os.Stdin, os.Stdout)
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.fettle); err != nil {
		return fmt.Errorf("cannot measure fettle: %w; build it: make build", err)
	}
	files, err := manyFiles()
	if err != nil {
		return err
	}
	s.carried(files)
	ctx, stop := context.WithTimeoutCause(ctx, s.most,
		fmt.Errorf("all of it took more than %s: give more to -most, or less to -agents", s.most))
	defer stop()
	var all []result
	for _, n := range s.agents {
		r, err := measure(ctx, s, n)
		if err != nil {
			return fmt.Errorf("with %d agents: %w", n, err)
		}
		all = append(all, r)
	}
	if s.onlyCommits {
		return nil
	}
	return publish(s, all)
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

// await polls until a condition holds, or returns an error when the context ends.
func await(ctx context.Context, what string, is func() bool) error {
	for !is() {
		if err := pause(ctx, shortly); err != nil {
			return errors.Join(fmt.Errorf("cannot wait any longer for %s", what), err)
		}
	}
	return nil
}
