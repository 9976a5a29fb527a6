package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxMemory limits the address space of a test, in bytes, because a mutant may allocate without end.
const maxMemory = 8 << 30

// bench builds and runs the tests that look at one package, in a directory of its own.
type bench struct {
	t      *target
	tests  []string // packages whose tests look, by directory
	run    string   // the -run of the tests, "" for all
	skip   string   // the -skip of the tests, "" for none
	chosen *regexp.Regexp
	// skipped matches the tests of skip, if it is not "".
	skipped *regexp.Regexp
	dir     string
	limit   time.Duration // for one run of the tests, if the jobs have no limit
	// rapid is true if the tests know the flag that keeps pgregory.net/rapid
	// from leaving its findings in the tree.
	rapid map[string]bool
	// binaries has the tests of each directory with all woven mutants.
	binaries map[string]string
	trials   []trial
	ids      map[string]int // the numbers of the woven mutants by name
}

// noFindings keeps rapid from writing into the tree.
const noFindings = "-rapid.nofailfile"

// prepare builds the tests with the woven mutants, makes sure that they pass without any, and learns what each costs.
func (b *bench) prepare(ctx context.Context, ms []mutant) error {
	var err error
	if b.chosen, err = regexp.Compile(b.run); err != nil {
		return err
	}
	if b.skipped, err = regexp.Compile(b.skip); err != nil {
		return err
	}
	ws, err := b.t.weave(ms)
	if err != nil {
		return err
	}
	overlay, err := b.t.overlay(b.dir, ws)
	if err != nil {
		return err
	}
	b.ids, b.binaries, b.rapid, b.limit = idsOf(ws), map[string]string{}, map[string]bool{}, 10*time.Minute
	for i, directory := range b.tests {
		binary := filepath.Join(b.dir, "woven"+strconv.Itoa(i)+".test")
		if err := b.t.compile(ctx, b.dir, directory, binary, overlay); err != nil {
			return err
		}
		b.binaries[directory] = binary
		r, err := b.execute(ctx, job{directory: directory, binary: binary, flags: []string{"-test.list=^$", noFindings}})
		if err != nil {
			return err
		}
		b.rapid[directory] = !r.failed
		ts, err := b.learn(ctx, i, binary)
		if err != nil {
			return err
		}
		b.trials = append(b.trials, ts...)
	}
	return nil
}

func idsOf(ws []woven) map[string]int {
	out := map[string]int{}
	for _, w := range ws {
		for _, m := range w.ms {
			out[m.name()] = w.ids[m.name()]
		}
	}
	return out
}

// kills returns true if a test notices the mutant.
func (b *bench) kills(ctx context.Context, m mutant) (bool, error) {
	number := b.ids[m.name()]
	built := map[string]string{}
	if number > 0 {
		built = b.binaries
	}
	for _, g := range groups(b.trials, number) {
		if built[g[0].directory] == "" {
			var err error
			if built[g[0].directory], err = b.alone(ctx, m, g[0].place); err != nil {
				return false, err
			}
		}
		j := job{directory: g[0].directory, binary: built[g[0].directory], flags: b.flags(g),
			env: []string{chosenVariable + "=" + strconv.Itoa(number)}}
		for _, t := range g {
			j.took, j.cpu = j.took+t.took, j.cpu+t.cpu
		}
		if r, err := b.execute(ctx, j); r.failed || err != nil {
			return r.failed, err
		}
	}
	return false, nil
}

// alone builds the tests of a directory with one mutant. Most mutants need only the build of their own package.
func (b *bench) alone(ctx context.Context, m mutant, place int) (string, error) {
	overlay, err := b.t.alone(b.dir, m)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(b.dir, "alone"+strconv.Itoa(place)+".test")
	return binary, b.t.compile(ctx, b.dir, b.tests[place], binary, overlay)
}

// job is one run of a test binary in the directory of its package.
type job struct {
	directory, binary string
	flags, env        []string
	took, cpu         time.Duration // without a mutant, 0 if unknown
}

// result is the end of a job.
type result struct {
	failed bool
	out    []byte
	cpu    time.Duration
}

// execute runs a job. A job that takes much longer than without a mutant has failed. The limit of CPU
// time ends loops; the limit of time allows for other load, and ends tests that wait.
func (b *bench) execute(ctx context.Context, j job) (result, error) {
	limit := b.limit
	if j.took > 0 {
		limit = 4*j.took + 10*time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"-test.failfast", "-test.timeout=0"}, j.flags...)
	if b.rapid[j.directory] {
		args = append(args, noFindings)
	}
	cmd := exec.CommandContext(ctx, j.binary, args...)
	cmd.Dir, cmd.Env = filepath.Join(b.t.root, j.directory), append(os.Environ(), j.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	if err := restrict(cmd.Process.Pid, j.cpu); err != nil && !errors.Is(err, unix.ESRCH) {
		return result{}, errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	err := cmd.Wait()
	if err != nil && cmd.ProcessState == nil {
		return result{}, err
	}
	return result{failed: err != nil, out: out.Bytes(),
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// restrict limits the memory of a process, and its CPU time if cpu, the usual time, is known.
func restrict(pid int, cpu time.Duration) error {
	room := unix.Rlimit{Cur: maxMemory, Max: maxMemory}
	err := unix.Prlimit(pid, unix.RLIMIT_AS, &room, nil)
	if cpu > 0 {
		seconds := uint64(3*cpu/time.Second) + 3
		err = errors.Join(err, unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 1}, nil))
	}
	return err
}
