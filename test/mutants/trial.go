package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trial is one test of one directory, with its cost.
type trial struct {
	directory string
	place     int    // of the directory in the list: 0 for the package's own tests
	test      string // "" for all tests, in their full form
	took      time.Duration
	cpu       time.Duration
	// reached has the numbers of the woven mutants that the test runs, nil if unknown.
	reached map[int]bool
}

// flags are the arguments of a test binary that runs some trials of one directory.
func (b *bench) flags(ts []trial) []string {
	if ts[0].test == "" && b.skip == "" {
		return nil
	}
	if ts[0].test == "" {
		return []string{"-test.skip=" + b.skip}
	}
	var names []string
	for _, t := range ts {
		names = append(names, t.test)
	}
	return []string{"-test.short", "-test.run=^(" + strings.Join(names, "|") + ")$"}
}

// learn runs each test of a directory once, without a mutant, and returns what it costs and reaches.
func (b *bench) learn(ctx context.Context, place int, binary string) ([]trial, error) {
	directory := b.tests[place]
	list, err := b.execute(ctx, job{directory: directory, binary: binary, flags: []string{"-test.list=."}})
	if err != nil {
		return nil, err
	}
	var out []trial
	for _, name := range strings.Fields(string(list.out)) {
		if !b.runs(name) {
			continue
		}
		t, err := b.once(ctx, trial{directory: directory, place: place, test: name}, binary)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if b.run != "" || !usesShort(filepath.Join(b.t.root, directory)) {
		return out, nil
	}
	full, err := b.once(ctx, trial{directory: directory, place: place}, binary)
	return append(out, full), err
}

// runs reports whether a line of a list of tests names a test that counts.
func (b *bench) runs(name string) bool {
	if b.skip != "" && b.skipped.MatchString(name) || !b.chosen.MatchString(name) {
		return false
	}
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example")
}

// usesShort returns true if a test of a directory has a short form.
func usesShort(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "testing.Short()")
	})
}

// once runs a trial without a mutant. It must pass.
func (b *bench) once(ctx context.Context, t trial, binary string) (trial, error) {
	file := filepath.Join(b.dir, "reached")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, err
	}
	start := time.Now()
	r, err := b.execute(ctx, job{directory: t.directory, binary: binary, flags: b.flags([]trial{t}),
		env: []string{reachedVariable + "=" + file}})
	if err != nil {
		return t, err
	}
	if r.failed {
		return t, fmt.Errorf("cannot begin: the tests fail without any mutant:\n%s", r.out)
	}
	t.took, t.cpu = time.Since(start), r.cpu
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, err
	}
	t.reached = map[int]bool{}
	for _, line := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return t, err
		}
		t.reached[n] = true
	}
	return t, nil
}

// quick is the time of the first group of tests, in which most mutants die. Each further group takes longer.
const quick = 300 * time.Millisecond

// groups sorts the trials that reach a mutant by package and then by their time. The own package is
// first. Each group needs one process. Number 0 is a mutant that any trial may reach.
func groups(ts []trial, number int) [][]trial {
	ts = slices.DeleteFunc(slices.Clone(ts), func(t trial) bool { return number > 0 && !t.reached[number] })
	slices.SortStableFunc(ts, func(a, b trial) int { return cmp.Or(a.place-b.place, cmp.Compare(a.took, b.took)) })
	var out [][]trial
	room, limit := time.Duration(0), quick
	for _, t := range ts {
		k := len(out) - 1
		if k < 0 || t.took > room || t.directory != out[k][0].directory || t.test == "" || out[k][0].test == "" {
			out, room = append(out, nil), limit
			k, limit = k+1, 4*limit
		}
		out[k], room = append(out[k], t), room-t.took
	}
	return out
}
