package accountfile

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// Append adds an entry to a file, replacing an entry of an interrupted attempt. A missing file is
// created. It is for Makers that use no tool.
func (db *DB) Append(file, line string) error {
	name, _, _ := strings.Cut(line, ":")
	return db.edit(func(e *edit) error {
		e.now[file] = e.now[file].with(name, line, "")
		return nil
	})
}

// Fields returns the fields of every line of a file.
func (db *DB) Fields(file string) ([][]string, error) {
	l, _, err := db.load(file)
	out := make([][]string, len(l))
	for i, line := range l {
		out[i] = fields(line)
	}
	return out, err
}

// rewrite replaces a file atomically and durably with the same owner, mode and
// attributes.
func (db *DB) rewrite(file, content string, missing bool) (err error) {
	dir, base := path.Split(file)
	temp := dir + "." + base + ".fettle-new"
	if err := db.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := db.fs.Create(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.fs.Remove(temp))
		}
	}()
	if err := errors.Join(db.fillFile(f, file, content, missing), f.Close()); err != nil {
		return err
	}
	if err := db.fs.Rename(temp, file); err != nil {
		return err
	}
	return db.fs.SyncDir(path.Dir(file))
}

func (db *DB) fillFile(f host.File, file, content string, missing bool) error {
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	like := db.dressLike
	if missing {
		like = func(f host.File, file string) error { return f.Chmod(newMode(file)) }
	}
	if err := like(f, file); err != nil {
		return err
	}
	return f.Sync()
}

func newMode(file string) uint32 {
	if file == Shadow || file == GShadow {
		return 0o640
	}
	return 0o644
}

// dressLike gives f the owner, mode and attributes of another file.
func (db *DB) dressLike(f host.File, file string) error {
	st, err := db.fs.Lstat(file)
	if err != nil {
		return err
	}
	if err := f.Chown(st.UID, st.GID); err != nil {
		return err
	}
	if err := f.Chmod(st.Mode); err != nil {
		return err
	}
	all, err := db.fs.Xattrs(file)
	for name, value := range all {
		if err := f.SetXattr(name, value); err != nil {
			return err
		}
	}
	return err
}
