package fire

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// envFiltered makes the test binary start a command that stops for its tracer
// at each call that could change a file, and at no other.
const envFiltered = "FETTLE_FIRE_FILTERED"

func filteredMain(argv []string) int {
	runtime.LockOSThread() // a filter belongs to a thread, and lives on in what that executes
	os.Unsetenv(envFiltered)
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = install(filter())
	}
	if err == nil {
		err = unix.Exec(path, argv, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "filter:", err)
	return 1
}

func install(f []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// Offsets in the kernel's struct seccomp_data, on little-endian machines.
const (
	atNumber = 0
	atArgs   = 16
)

// filter is a program of the kernel's packet filter: one block for each call.
func filter() []unix.SockFilter {
	out := []unix.SockFilter{load(atNumber)}
	all := calls()
	for _, nr := range slices.Sorted(maps.Keys(all)) {
		block := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE}}
		if f := all[nr].flags; f >= 0 {
			block = []unix.SockFilter{
				load(atArgs + 8*uint32(f)),
				{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: writing, Jf: 1},
				{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE},
				{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
			}
		}
		out = append(out, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr),
			Jf: uint8(len(block))})
		out = append(out, block...)
	}
	return append(out, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}
