package local

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Shed releases the read-only pages of this program's own file: its code and constants. The kernel
// loads needed pages again from the page cache or the disk. An idle program uses few of them, but
// has touched all of them while it worked.
func Shed() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot find the binary of this process: %w", err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("cannot read the memory map of this process: %w", err)
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, size, ok := readOnly(lines.Text(), self); ok {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 {
				return fmt.Errorf("cannot release memory pages: %w", errno)
			}
		}
	}
	return nil
}

// readOnly reads a line of /proc/PID/maps. It returns the address range of a mapping of the file
// that cannot have been written to.
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
