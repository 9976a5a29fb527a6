package fire

import "golang.org/x/sys/unix"

// olderCalls are those that newer architectures do without.
func olderCalls() map[uint64]call {
	return map[uint64]call{
		unix.SYS_OPEN:    {"open", 0, -1, 1},
		unix.SYS_CREAT:   {"open", 0, -1, -1},
		unix.SYS_RENAME:  {"rename", 1, -1, -1},
		unix.SYS_UNLINK:  {"unlink", 0, -1, -1},
		unix.SYS_RMDIR:   {"rmdir", 0, -1, -1},
		unix.SYS_MKDIR:   {"mkdir", 0, -1, -1},
		unix.SYS_LINK:    {"link", 1, -1, -1},
		unix.SYS_SYMLINK: {"symlink", 1, -1, -1},
		unix.SYS_CHMOD:   {"chmod", 0, -1, -1},
		unix.SYS_CHOWN:   {"chown", 0, -1, -1},
		unix.SYS_LCHOWN:  {"chown", 0, -1, -1},
	}
}
