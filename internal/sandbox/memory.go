package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// KeepMemory excludes the memory of this process from core dumps and from other processes of the
// same user. A process that decrypts secrets must call it first. It holds until the process ends,
// and repeated calls have no further effect. It does not affect programs that the process starts.
//
// After that call, a process cannot give a child a separate user namespace with Run, unless it is
// root.
func KeepMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot protect the memory of this process: %w", err)
	}
	return nil
}
