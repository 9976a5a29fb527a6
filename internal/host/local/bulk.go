package local

import (
	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

var _ host.Bulk = (*Host)(nil)

// LstatEach implements host.Bulk: the way to the directory is gone once.
func (h *Host) LstatEach(dir string, names []string, each func(i int, st host.Stat, err error) bool) {
	if len(names) == 0 {
		return
	}
	p, err := h.reading("look at", host.JoinPath(dir, names[0]))
	if err != nil {
		for i := range names {
			if !each(i, host.Stat{}, err) {
				return
			}
		}
		return
	}
	defer p.done()
	var st unix.Stat_t
	for i, n := range names {
		if err := unix.Fstatat(p.fd, n, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); err != nil {
			if !each(i, host.Stat{}, failed("look at", host.JoinPath(dir, n), err)) {
				return
			}
		} else if !each(i, h.toStat(&st), nil) {
			return
		}
	}
}
