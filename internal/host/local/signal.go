package local

import "golang.org/x/sys/unix"

// whole repeats a system call that a signal interrupted before it did anything.
// File systems in user space and of other machines let that happen in any call.
func whole(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
