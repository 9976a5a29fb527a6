package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"fettle.dev/fettle/test/bench/machine"
)

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(1)
}

// errReported is a failure that the process which had it has told.
var errReported = errors.New("told already")

// run is one of the processes that the benchmark itself starts, or the
// benchmark.
func run(args []string) error {
	runtime.LockOSThread() // the kernel ends a child with the thread that started it
	if len(args) > 0 {
		switch args[0] {
		case "measure":
			return measureMain(args[1:])
		case "limit":
			return limitMain(args[1:])
		case "within":
			return within(args[1], args[2:])
		}
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	base, err := os.MkdirTemp(s.dir, "fettle-bench-")
	if err != nil {
		return err
	}
	return errors.Join(start(base, args), os.RemoveAll(base))
}

// start runs the benchmark as a process that, for root, has mounts of its own,
// so that these go with it. However it ends, its directory can be removed then.
func start(base string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := machine.Apart(append([]string{self, "within", base}, args...), syscall.CLONE_NEWNS); err != nil {
		return errReported
	}
	return nil
}

// within is the benchmark in its directory.
func within(base string, args []string) error {
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	fields, notes, err := allFields(s, base)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(fields, func(f field) bool { return len(f.sizes) > 0 }) {
		return fmt.Errorf("cannot find anything that both -works and -tools match; the works are %q", works())
	}
	b := newBench(s, base)
	b.fields, b.notes = fields, notes
	if err := b.all(); err != nil {
		return err
	}
	if err := b.publish(); err != nil {
		return err
	}
	if len(b.failed) > 0 {
		return errors.New("a tool failed; the notes name it")
	}
	return nil
}

// publish prints the tables and writes the report.
func (b *bench) publish() error {
	m, err := describe(b.settings, b.base)
	if err != nil {
		return err
	}
	for _, w := range works() {
		if rows := b.rows(w); rows != nil {
			fmt.Printf("%s\n\n%s\n", w, plainTable(rows))
		}
	}
	for _, n := range b.notes {
		fmt.Println(n)
	}
	if b.out == "" {
		return nil
	}
	file := filepath.Join(b.out, "performance.md")
	if b.chapters {
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, []byte(merge(string(page), b, m)), 0o644)
	}
	if err := os.WriteFile(filepath.Join(b.out, "performance.svg"), []byte(plot(b)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(report(b, m)), 0o644)
}
