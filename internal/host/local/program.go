package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// lookProgram finds a program inside the root, links followed as exec will.
func (h *resolver) lookProgram(name, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = path.Join(dir, name)
		}
		return name, h.noProgram(name, h.executable(name))
	}
	for _, d := range strings.Split(searchPath, ":") {
		if p := path.Join(d, name); h.executable(p) == nil {
			return p, nil
		}
	}
	return "", h.noProgram(name, fmt.Errorf("%w in %s", fs.ErrNotExist, searchPath))
}

// Find implements host.Finder.
func (h *Host) Find(name, dir string) error {
	if dir == "" {
		dir = "/"
	}
	_, err := h.lookProgram(name, dir)
	return err
}

// noProgram adds that the program is missing in a different root, which is not an error of the
// caller.
func (h *resolver) noProgram(name string, err error) error {
	if err != nil && h.root != "/" {
		err = fmt.Errorf("%w (in the root %s: %w)", err, h.root, host.ErrUnsupported)
	}
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", name, err)
	}
	return nil
}

func (h *resolver) executable(p string) error {
	fd, err := again(func() (int, error) {
		return unix.Openat2(h.rootFD, p, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case st.Mode&0o111 == 0:
		return errors.New("it is not executable; give it mode 0755")
	}
	return nil
}
