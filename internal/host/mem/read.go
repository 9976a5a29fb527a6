package mem

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// get finds the inode at a path. The caller holds the lock.
func (d *disk) get(what, path string) (*inode, error) {
	s, err := d.find(path)
	if err != nil {
		return nil, failed(what, path, err)
	}
	n := s.get()
	if n == nil {
		return nil, failed(what, path, errNoEntry)
	}
	return n, nil
}

// Lstat implements host.Reader.
func (f *FS) Lstat(path string) (host.Stat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("look at", path)
	if err != nil {
		return host.Stat{}, err
	}
	return n.stat(), nil
}

// ReadDir implements host.Reader.
func (f *FS) ReadDir(path string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("list", path)
	if err != nil {
		return nil, err
	}
	if n.typ != image.Directory {
		return nil, failed("list", path, errNotDir)
	}
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Readlink implements host.Reader.
func (f *FS) Readlink(path string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("read link", path)
	if err != nil {
		return "", err
	}
	if n.typ != image.Symlink {
		return "", failed("read link", path, errInvalid)
	}
	return n.target, nil
}

// Open implements host.Reader.
func (f *FS) Open(path string) (host.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openRegular(path, file{})
}

// openRegular opens an existing regular file like the given handle. The caller must hold the lock.
func (f *FS) openRegular(path string, like file) (host.File, error) {
	n, err := f.get("open", path)
	if err != nil {
		return nil, err
	}
	if n.typ != image.Regular {
		return nil, notRegular(path, n)
	}
	if like.writable && n.attrs&flagImmutable != 0 {
		return nil, failed("open", path, errNotPermit)
	}
	like.node = node{fs: f, path: path, n: n}
	return &like, nil
}

// Xattrs implements host.Reader.
func (f *FS) Xattrs(path string) (map[string][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("read attributes of", path)
	if err != nil || len(n.xattrs) == 0 {
		return nil, err
	}
	out := map[string][]byte{}
	for name, value := range n.xattrs {
		out[name] = slices.Clone(value)
	}
	return out, nil
}

// Attrs implements host.Reader.
func (f *FS) Attrs(path string) (uint32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("read flags of", path)
	if err != nil {
		return 0, err
	}
	return n.attrs, nil
}

// SameMount implements host.Reader; see BindMount.
func (f *FS) SameMount(path string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("look at the mount of", path)
	return err == nil && !n.mount, err
}

// BindMount makes the path a separate mount, like /etc/hosts in a container: it can be written, but
// neither replaced nor removed.
func (f *FS) BindMount(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("mount on", path)
	if err == nil {
		n.mount = true
	}
	return err
}
