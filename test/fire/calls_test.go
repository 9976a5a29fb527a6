package fire

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// call is a system call that changes files: where its path stands among the
// arguments, or its descriptor, and where the flags of an open.
type call struct {
	name            string
	path, fd, flags int // argument numbers, -1 for none
}

// writing are the flags of an open that may change something.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT

// calls are those that every architecture has; olderCalls are the others.
func calls() map[uint64]call {
	all := map[uint64]call{
		unix.SYS_OPENAT:     {"open", 1, -1, 2},
		unix.SYS_RENAMEAT:   {"rename", 3, -1, -1},
		unix.SYS_RENAMEAT2:  {"rename", 3, -1, -1},
		unix.SYS_UNLINKAT:   {"unlink", 1, -1, -1},
		unix.SYS_MKDIRAT:    {"mkdir", 1, -1, -1},
		unix.SYS_LINKAT:     {"link", 3, -1, -1},
		unix.SYS_SYMLINKAT:  {"symlink", 2, -1, -1},
		unix.SYS_FCHMODAT:   {"chmod", 1, -1, -1},
		unix.SYS_FCHOWNAT:   {"chown", 1, -1, -1},
		unix.SYS_UTIMENSAT:  {"utime", 1, 0, -1},
		unix.SYS_FCHMOD:     {"chmod", -1, 0, -1},
		unix.SYS_FCHOWN:     {"chown", -1, 0, -1},
		unix.SYS_FTRUNCATE:  {"truncate", -1, 0, -1},
		unix.SYS_FSYNC:      {"sync", -1, 0, -1},
		unix.SYS_FDATASYNC:  {"sync", -1, 0, -1},
		unix.SYS_WRITE:      {"write", -1, 0, -1},
		unix.SYS_PWRITE64:   {"write", -1, 0, -1},
		unix.SYS_EXIT_GROUP: {"end", -1, -1, -1},
	}
	for nr, c := range olderCalls() {
		all[nr] = c
	}
	return all
}

// describe tells what a stopped process is about to change, "" for nothing.
func (c call) describe(pid int, args [6]uint64) string {
	name := ""
	switch {
	case c.path >= 0 && args[c.path] != 0:
		name = text(pid, uintptr(args[c.path]))
	case c.fd >= 0:
		name, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(args[c.fd])))
		if !strings.HasPrefix(name, "/") { // a pipe
			return ""
		}
	}
	if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
		return ""
	}
	return strings.TrimSpace(c.name + " " + name)
}

// text reads a string of another process, as much as there is of it.
func text(pid int, at uintptr) string {
	buf := make([]byte, 256)
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: len(buf)}}, 0)
	if err != nil { // the page ends before the buffer
		rest := 4096 - int(at%4096)
		if rest > len(buf) {
			return ""
		}
		local[0].SetLen(rest)
		if n, err = unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: rest}}, 0); err != nil {
			return ""
		}
	}
	s, _, _ := strings.Cut(string(buf[:n]), "\x00")
	return s
}

// program is the name of what a process runs.
func program(pid int) string {
	exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return filepath.Base(exe)
}

// arguments is the command line of a process.
func arguments(pid int) []string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// maker is who made a process or a thread, as long as it lives.
func maker(pid int) int {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	of := map[string]int{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		of[key], _ = strconv.Atoi(strings.TrimSpace(value))
	}
	if of["Tgid"] != pid {
		return of["Tgid"]
	}
	return of["PPid"]
}
