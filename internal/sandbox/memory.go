package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// KeepMemory keeps what this process has in memory out of core dumps, and other
// processes of the same user from reading it. It is for one that opens secrets,
// before it does, and holds until the process ends; once is as good as twice.
// Programs that it starts are not touched.
//
// A process that keeps its memory cannot give a child a user namespace of its own
// with Run, unless it is root.
func KeepMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep the memory of this process to itself: %w", err)
	}
	return nil
}
