package history

import (
	"errors"

	"github.com/prometheus/procfs"
)

// ProcessLoad returns the load of this process (proc_pid_stat(5)).
func ProcessLoad() (Load, error) {
	p, err := procfs.Self()
	if err != nil {
		return Load{}, err
	}
	s, err := p.Stat()
	return Load{CPU: s.CPUTime(), Memory: float64(s.ResidentMemory())}, err
}

// HostMemory returns the available memory of this host and all of its memory, in bytes; see /proc/meminfo in proc(5).
func HostMemory() (free, all uint64, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0, err
	}
	m, err := fs.Meminfo()
	if err != nil {
		return 0, 0, err
	}
	if m.MemAvailableBytes == nil || m.MemTotalBytes == nil {
		return 0, 0, errors.New("/proc/meminfo has no MemAvailable or MemTotal")
	}
	return *m.MemAvailableBytes, *m.MemTotalBytes, nil
}
