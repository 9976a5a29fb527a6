package repo

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// gitFile is a file that an answer of git depends on, or the absence of such a file.
type gitFile struct {
	Path  string
	Stamp []byte
}

// same reports whether nothing has changed since the look: neither a file nor the names in a
// directory. It checks everything once and reads no content.
func (l *look) same(top string) bool {
	return sameGitFiles(l.Git) && l.sameDirectories(top)
}

func sameGitFiles(list []gitFile) bool {
	for _, f := range list {
		s, err := lstamp(f.Path)
		if err != nil || !bytes.Equal(s.append(nil), f.Stamp) {
			return false
		}
	}
	return len(list) > 0
}

func (l *look) sameDirectories(top string) bool {
	fd, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var next atomic.Int64
	var changed atomic.Bool
	look := func() {
		for !changed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(l.directories) {
				return
			}
			if !sameDirectory(fd, l.directories[i]) {
				changed.Store(true)
			}
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(l.directories)) - 1 {
		group.Go(look)
	}
	look()
	group.Wait()
	return !changed.Load()
}

// sameDirectory compares one directory with its entries. A link that replaces a parent directory would
// lead to files with different stamps. It also changes the stamp of a directory that is compared.
func sameDirectory(top int, text string) bool {
	dir, want, count, r := readDirectory(text)
	fd, err := unix.Openat(top, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || unixStamp(&st) != want {
		return false
	}
	for ; count > 0; count-- {
		e := r.entry()
		if r.bad || unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT) != nil ||
			unixStamp(&st) != e.stamp {
			return false
		}
	}
	return true
}
