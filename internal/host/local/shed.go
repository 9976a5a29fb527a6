package local

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Shed gives back the pages of this program's own file that are only read: its code and its
// constants. What is needed again comes back by itself, from the page cache or the disk. A
// program that rests uses a few of them, and has touched all when it worked.
func Shed() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("cannot read what this process has mapped: %w", err)
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, size, ok := readOnly(lines.Text(), self); ok {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 {
				return fmt.Errorf("cannot give pages back: %w", errno)
			}
		}
	}
	return nil
}

// readOnly reads a line of /proc/PID/maps: the stretch of a mapping of a file that nobody
// can have written to.
func readOnly(line, file string) (from, size uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || strings.Join(f[5:], " ") != file || strings.Contains(f[1], "w") || !strings.HasSuffix(f[1], "p") {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(f[0], "-")
	a, err1 := strconv.ParseUint(low, 16, 64)
	b, err2 := strconv.ParseUint(high, 16, 64)
	return uintptr(a), uintptr(b - a), err1 == nil && err2 == nil && b > a
}
