package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxMemory is what a test may take: a loop that does not end must not take the
// machine with it. In bytes of address space.
const maxMemory = 8 << 30

// bench builds and runs the tests of one package in a folder of its own.
type bench struct {
	t     *target
	tests []string // packages whose tests look, by folder
	run   string   // the -run of the tests, "" for all
	last  string   // which of them run only when the others have seen nothing
	dir   string
	limit time.Duration // for one run of the tests
	// rapid tells that the tests know the flag that keeps pgregory.net/rapid
	// from leaving its findings in the tree.
	rapid bool
}

// noFindings keeps rapid from writing into the tree.
const noFindings = "-rapid.nofailfile"

// prepare makes sure that the tests pass as things are, and learns how long
// they take and what they know.
func (b *bench) prepare(ctx context.Context) error {
	b.limit = 10 * time.Minute
	without, _, err := b.fails(ctx, [][]string{{"-test.list=.", noFindings}}, []byte("{}"))
	if err != nil {
		return err
	}
	b.rapid = !without
	start := time.Now()
	failed, out, err := b.fails(ctx, [][]string{nil}, []byte("{}"))
	if err != nil {
		return err
	}
	if failed {
		return fmt.Errorf("cannot begin: the tests fail without any mutant:\n%s", out)
	}
	b.limit = 2*time.Since(start) + 10*time.Second
	return nil
}

// kills tells whether a test notices the mutant.
func (b *bench) kills(ctx context.Context, m mutant) (bool, error) {
	text, err := b.t.edited(m)
	if err != nil {
		return false, err
	}
	file := filepath.Join(b.dir, filepath.Base(m.file))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return false, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.t.root, m.file): file}})
	if err != nil {
		return false, err
	}
	failed, _, err := b.fails(ctx, b.rounds(), overlay)
	return failed, err
}

// rounds are the flags of the runs of the tests, the cheapest first.
func (b *bench) rounds() [][]string {
	if b.last == "" {
		return [][]string{{"-test.short"}, {}}
	}
	return [][]string{{"-test.short", "-test.skip=" + b.last}, {"-test.short"}, {}}
}

// fails builds the tests with an overlay and runs them, in each of the rounds, until one fails.
func (b *bench) fails(ctx context.Context, rounds [][]string, overlay []byte) (failed bool, out []byte, err error) {
	file := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return false, nil, err
	}
	for _, folder := range b.tests {
		binary := filepath.Join(b.dir, "mutant.test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", binary, "./"+folder)
		build.Dir = b.t.root
		if out, err := build.CombinedOutput(); err != nil {
			return false, nil, fmt.Errorf("cannot build the tests of %s: %w\n%s", folder, err, out)
		}
		for _, flags := range rounds {
			if failed, out, err = b.execute(ctx, folder, binary, flags); failed || err != nil {
				return failed, out, err
			}
		}
	}
	return false, out, nil
}

// execute runs a test binary in the folder of its package.
func (b *bench) execute(ctx context.Context, folder, binary string, flags []string) (bool, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	args := append([]string{"-test.failfast", "-test.timeout=0", "-test.run=" + b.run}, flags...)
	if b.rapid {
		args = append(args, noFindings)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(b.t.root, folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return false, nil, err
	}
	room := unix.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_AS, &room, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, nil, errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	err := cmd.Wait()
	if err != nil && cmd.ProcessState == nil {
		return false, nil, err
	}
	return err != nil, out.Bytes(), nil
}
