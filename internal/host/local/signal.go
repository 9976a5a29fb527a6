package local

import "golang.org/x/sys/unix"

// whole repeats a system call that a signal interrupted before it had an effect. In network file
// systems and file systems in user space, this can happen in any call.
func whole(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
