package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// findRun returns the number of the run that the user names.
func findRun(ctx context.Context, s *cli.Session, x executor.Executor, to string) (int, error) {
	if to == "origin" || to == "0" {
		return 0, nil
	}
	if to == "" {
		return previousRun(ctx, s.Printer, x)
	}
	if n, err := strconv.Atoi(to); err == nil {
		runs, err := x.Runs(ctx)
		if err != nil {
			return 0, err
		}
		for _, r := range runs {
			if r.Header.Run == n {
				return n, nil
			}
		}
		if len(to) < minHash {
			return 0, cli.Refuse("List them: fettle log", fmt.Sprintf("cannot find run %s", to))
		}
	}
	return runOfCommit(ctx, s, x, to)
}

// previousRun is the run whose state the last one started from.
func previousRun(ctx context.Context, s *cli.Printer, x executor.Executor) (int, error) {
	st, err := x.Status(ctx)
	if err != nil {
		return 0, err
	}
	if st.State.Run == 0 {
		return 0, cli.Refuse("See the history: fettle log", "cannot roll back: nothing is applied on this host")
	}
	runs, err := x.Runs(ctx)
	return beforeApply(runs, st.State.Run), err
}

// beforeApply is the run whose state an apply started from, of which a run is the
// last phase.
func beforeApply(runs []journal.RunInfo, run int) int {
	base := 0
	for _, r := range slices.Backward(runs) {
		if r.Header.Run == run {
			if base = r.Header.Base; r.Header.Continues == 0 {
				break
			}
			run = r.Header.Continues
		}
	}
	return base
}

// minHash is how many digits of a commit are enough to ask the history.
const minHash = 4

func runOfCommit(ctx context.Context, s *cli.Session, x executor.Executor, name string) (int, error) {
	if isHash(name) {
		run, ok, err := x.RunOf(ctx, strings.ToLower(name))
		if err != nil || ok {
			return run, err
		}
	}
	commit, err := resolveCommit(ctx, s, name)
	if err != nil {
		return 0, cli.WithHint(fmt.Errorf("cannot find a run of %q: %w", name, err), "List them: fettle log")
	}
	run, ok, err := x.RunOf(ctx, commit)
	if err != nil || ok {
		return run, err
	}
	return 0, cli.Refuse("List them: fettle log\nTo apply it: fettle apply --rev "+name,
		fmt.Sprintf("cannot find a run of %q (%s): it was never applied here", name, render.Short(commit)))
}

func resolveCommit(ctx context.Context, s *cli.Session, name string) (string, error) {
	r, err := repo.OpenWith(ctx, s.Dir, s.Limits())
	if err != nil {
		return "", err
	}
	defer r.Close()
	if !r.IsGit() {
		return "", errors.New("no run here applied such a commit, and this directory is not a git repository")
	}
	rev, err := r.Resolve(ctx, name)
	return rev.Commit, err
}

func isHash(s string) bool {
	return len(s) >= minHash && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// errNothingApplied is the error of commands that need an applied list.
func errNothingApplied() error {
	return cli.WithHint(errors.New("nothing is applied on this host"), "Apply something first: fettle apply")
}
