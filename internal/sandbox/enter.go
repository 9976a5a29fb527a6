package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// Inside is the child's view of its sandbox.
type Inside struct{ notes *os.File }

// Enter applies the limits in args to this process. A child calls it first, and cannot revert it.
// Features that the kernel lacks are omitted; a limit that it refuses is an error.
func Enter(args []string) (*Inside, error) {
	memory, seconds, err := parse(args)
	if err != nil {
		return nil, err
	}
	err = errors.Join(limit(memory, seconds), drop(), wall(), KeepMemory())
	if err != nil {
		return nil, fmt.Errorf("cannot limit the compiler's process: %w", err)
	}
	debug.SetGCPercent(400) // for a short life; the next line keeps it small
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(min(memory/4, 512<<20)))
	return &Inside{os.NewFile(3, "notes")}, nil
}

// limit sets the resource limits. The hard ones are lowered too: nothing in
// here raises them again.
func limit(memory int64, seconds uint64) error {
	mapped, err := mapped()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_AS, mapped + uint64(memory)}, {unix.RLIMIT_CPU, seconds}, {unix.RLIMIT_NOFILE, openFiles},
		{unix.RLIMIT_FSIZE, noteSize}, {unix.RLIMIT_CORE, 0},
	} {
		var has unix.Rlimit
		if err := unix.Getrlimit(l.what, &has); err != nil {
			return err
		}
		v := min(l.value, has.Max)
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return err
		}
	}
	return nil
}

// mapped returns the size of this process's address space: Go reserves much more than it uses.
func mapped() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 2 << 30, nil // without /proc, Go's maximum
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text) + " ")[0], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

const nobody = 65534

// drop gives up root privileges.
func drop() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := syscall.Setgroups(nil)
	if err == nil {
		err = syscall.Setresgid(nobody, nobody, nobody)
	}
	if err == nil {
		err = syscall.Setresuid(nobody, nobody, nobody)
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		return nil // a root that may not: in a namespace that has no other users
	}
	return err
}

// wall closes the file system and the network with Landlock, which also prevents new privileges, as
// far as the kernel supports it.
func wall() error {
	return landlock.V8.BestEffort().Restrict()
}

// Note keeps a short text for the parent to find when this process has died.
// It costs one system call.
func (i *Inside) Note(text string) {
	var b [noteSize]byte
	n := copy(b[:noteSize-1], text)
	_, _ = i.notes.WriteAt(b[:n+1], 0)
}
