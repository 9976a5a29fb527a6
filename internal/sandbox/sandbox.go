// Package sandbox runs this program again as a child with few rights, for work on input that may be
// hostile.
//
//	c, err := sandbox.Start(limits, "compile-child")   // the parent
//	…talk over c.In and c.Out…
//	end := c.End()
//
//	in, err := sandbox.Enter(os.Args[2:])              // the child, first of all
//	in.Note("fettle.hcl:3")                            // kept when the child is killed
//
// The child has limits of memory, CPU time and open files. As far as the kernel supports it, the
// child has no network, no file system, no programs to start, and cannot gain privileges: Walls
// lists these. It inherits no environment.
package sandbox

import (
	"fmt"
	"strconv"
	"time"
)

// Limits bound a child. The zero value of a field is its default.
type Limits struct {
	// Memory in bytes, in addition to the program's mappings at its start. Default 2 GiB.
	Memory int64
	// CPU is processor time, the backstop of a parent that is gone. It counts
	// whole seconds. Default 90 s.
	CPU time.Duration
}

// DefaultMemory is the limit of memory where none is given, in bytes.
const DefaultMemory = 2 << 30

const (
	defaultCPU = 90 * time.Second
	openFiles  = 32
	noteSize   = 1 << 10
)

func (l Limits) memory() int64 {
	if l.Memory <= 0 {
		return DefaultMemory
	}
	return l.Memory
}

// seconds is the processor time, rounded up.
func (l Limits) seconds() uint64 {
	if l.CPU <= 0 {
		l.CPU = defaultCPU
	}
	return uint64((l.CPU + time.Second - 1) / time.Second)
}

// args are the limits as words of a command line; parse reads them.
func (l Limits) args() []string {
	return []string{strconv.FormatInt(l.memory(), 10), strconv.FormatUint(l.seconds(), 10)}
}

func parse(args []string) (memory int64, seconds uint64, err error) {
	if len(args) != 2 {
		return 0, 0, fmt.Errorf("cannot read the limits of the child: there are %d words, not 2", len(args))
	}
	memory, err = strconv.ParseInt(args[0], 10, 64)
	if err == nil {
		seconds, err = strconv.ParseUint(args[1], 10, 32)
	}
	if err != nil || memory <= 0 || seconds == 0 {
		return 0, 0, fmt.Errorf("cannot read the limits of the child: %q", args)
	}
	return memory, seconds, nil
}
