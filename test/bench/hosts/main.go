package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"fettle.dev/fettle/test/bench/machine"
)

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "hosts:", err)
	}
	os.Exit(1)
}

// errReported is a failure that the process which had it has told.
var errReported = errors.New("told already")

// run is one of the processes that the benchmark itself starts, or the benchmark.
func run(args []string) error {
	runtime.LockOSThread() // the kernel ends a child with the thread that started it
	if len(args) > 0 {
		switch args[0] {
		case "host":
			return hostMain(args[1:])
		case "contact":
			return contactMain(args[1:])
		case "within":
			return within(args[1], args[2:])
		}
	}
	if _, err := parseFlags(args); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("cannot make hosts: it needs root")
	}
	base, err := os.MkdirTemp("", "fettle-hosts-")
	if err != nil {
		return err
	}
	return errors.Join(start(base, args), removeGroups(base), os.RemoveAll(base))
}

// start runs the benchmark as the first process of namespaces of its own. However
// it ends, its mounts, hosts, connections and network go with it.
func start(base string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	if err := machine.Apart(append([]string{self, "within", base}, args...), namespaces); err != nil {
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
	notes, err := s.findPrograms()
	if err != nil {
		return err
	}
	if err := ground(base); err != nil {
		return err
	}
	b := &bench{settings: s, base: base, notes: notes, results: map[cell][]sample{}, broken: map[cell]string{}}
	if err := b.all(); err != nil {
		return err
	}
	return b.publish()
}

// publish prints the table and writes the page.
func (b *bench) publish() error {
	facts, err := machine.Describe(b.date, b.base)
	if err != nil {
		return err
	}
	facts = append(facts, machine.Fact{Name: "fettle",
		Value: machine.Output(b.fettle, "version") + ", " + b.programSize()},
		machine.Fact{Name: "OpenSSH", Value: machine.Output("ssh", "-V")})
	if b.peers {
		facts = append(facts, machine.Fact{Name: "ansible", Value: machine.Output("ansible-playbook", "--version")})
	}
	text := report(b, facts)
	fmt.Println(text)
	if b.out != "" {
		err = os.WriteFile(filepath.Join(b.out, "performance-hosts.md"), []byte(text), 0o644)
	}
	if err == nil && len(b.broken) > 0 {
		err = errors.New("a tool failed; the notes name it")
	}
	return err
}

func (b *bench) programSize() string {
	info, err := os.Stat(b.fettle)
	if err != nil {
		return "of unknown size"
	}
	return fmt.Sprintf("a binary of %.1f MiB", float64(info.Size())/(1<<20))
}
