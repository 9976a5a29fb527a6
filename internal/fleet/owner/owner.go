// Package owner gives the directory of a hub to the user that the hub runs as.
//
//	n, err := owner.Give(files, "/var/lib/fettle-hub", owner.User{Name: "fettle-hub", UID: 998, GID: 998})
//
// A hub that was set up as root has a directory of root. It is given away once: first its content,
// and last the directory itself. Until then only root can enter the directory, so no other user can
// replace a name during the work. The next call completes interrupted work.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// ErrNoUser is in the chain of the error about a user that this host does not have.
var ErrNoUser = errors.New("this host does not have it")

// ErrRoot is in the chain of the error about a hub that systemd would run as root.
var ErrRoot = errors.New("its directory belongs to root")

// User is the user and the group that a hub runs as.
type User struct {
	Name     string
	UID, GID uint32
}

func (u User) owns(st host.Stat) bool { return st.UID == u.UID }

// Give gives a directory of root and all its content to a user, and closes both to all other users.
// It returns how many files it gave. A directory that belongs to the user already is not changed.
//
// It gives nothing and returns an error if the directory, or a file in it, belongs to a third user.
// The same applies to links, hard links, devices and mounts in the directory, because they lead out
// of it. A mount that belongs to the user is not entered. fs.ErrNotExist is in the chain of the
// error if there is no directory.
func Give(files host.FS, dir string, to User) (given int, err error) {
	st, err := files.Lstat(dir)
	if err != nil {
		return 0, refuse(dir, to, err)
	}
	switch {
	case st.Type == image.Symlink:
		return 0, refuse(dir, to,
			errors.New("it is a symbolic link. Replace the link with a bind mount, or name the directory that it leads to"))
	case st.Type != image.Directory:
		return 0, refuse(dir, to, errors.New("it is not a directory"))
	case to.owns(st):
		return 0, nil
	case st.UID != 0:
		return 0, refuse(dir, to, fmt.Errorf("it belongs to the user with the number %d, not to root", st.UID))
	}
	if err := closeToOthers(files, dir, st); err != nil {
		return 0, refuse(dir, to, err)
	}
	w := walk{files: files, to: to}
	if err := w.collect(dir); err != nil {
		return 0, refuse(dir, to, err)
	}
	for _, p := range w.paths {
		if err := give(files, p, to); err != nil {
			return 0, refuse(dir, to, err)
		}
	}
	// After a power cut a given directory must not have content of root.
	if err := files.SyncFS(dir); err != nil {
		return 0, refuse(dir, to, err)
	}
	if err := errors.Join(give(files, dir, to), files.SyncFS(dir)); err != nil {
		return 0, refuse(dir, to, err)
	}
	return len(w.paths) + 1, nil
}

func refuse(dir string, to User, err error) error {
	return fmt.Errorf("cannot give %s to the user %s: %w", dir, to.Name, err)
}

// walk collects the files to give, content before its directory.
type walk struct {
	files host.FS
	to    User
	paths []string
}

func (w *walk) collect(dir string) error {
	names, err := w.files.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		p := path.Join(dir, name)
		st, err := w.files.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.add(p, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) add(p string, st host.Stat) error {
	same, err := w.files.SameMount(p)
	if err != nil {
		return err
	}
	if !same && w.to.owns(st) {
		return nil
	}
	if err := w.check(p, st, same); err != nil {
		return err
	}
	if st.Type == image.Directory {
		if err := w.collect(p); err != nil {
			return err
		}
	}
	if !w.to.owns(st) {
		w.paths = append(w.paths, p)
	}
	return nil
}

// check refuses files that lead out of the directory, and files of a third user.
func (w *walk) check(p string, st host.Stat, sameMount bool) error {
	switch {
	case !sameMount:
		return fmt.Errorf("%s is a mount. Unmount it, or give its content away first: chown -R %s: %s", p, w.to.Name, p)
	case st.Type == image.Symlink:
		return fmt.Errorf("%s is a symbolic link. Replace it with the file that it leads to", p)
	case st.Type != image.Regular && st.Type != image.Directory:
		return fmt.Errorf("%s is neither a file nor a directory. Remove it", p)
	case st.Type == image.Regular && st.Nlink > 1:
		return fmt.Errorf("%s has another name elsewhere (a hard link). Replace it with a copy", p)
	case st.UID != 0 && !w.to.owns(st):
		return fmt.Errorf("%s belongs to the user with the number %d, not to root", p, st.UID)
	}
	return nil
}

// closeToOthers lets only root enter the directory while its content is given.
func closeToOthers(files host.FS, dir string, st host.Stat) error {
	if st.Mode&0o077 == 0 {
		return nil
	}
	n, err := files.OpenNode(dir)
	if err != nil {
		return err
	}
	return errors.Join(n.Chmod(st.Mode&0o700), n.Close())
}

// give gives one file, and closes it to all other users.
func give(files host.FS, p string, to User) error {
	n, err := files.OpenNode(p)
	if err != nil {
		return err
	}
	st, err := n.Stat()
	if err == nil && st.Mode&0o700 != st.Mode {
		err = n.Chmod(st.Mode & 0o700)
	}
	if err == nil {
		err = n.Chown(to.UID, to.GID)
	}
	return errors.Join(err, n.Close())
}
