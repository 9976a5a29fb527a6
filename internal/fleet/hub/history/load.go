package history

import "github.com/prometheus/procfs"

// ProcessLoad returns the load of this process (proc_pid_stat(5)).
func ProcessLoad() (Load, error) {
	p, err := procfs.Self()
	if err != nil {
		return Load{}, err
	}
	s, err := p.Stat()
	return Load{CPU: s.CPUTime(), Memory: float64(s.ResidentMemory())}, err
}
