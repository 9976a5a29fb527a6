package mem

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// node is an open inode.
type node struct {
	fs     *FS
	path   string
	n      *inode
	closed bool
	dirty  bool // metadata was set through this handle since its last sync
}

func (h *node) Stat() (host.Stat, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return host.Stat{}, failed("look at", h.path, errBadFile)
	}
	return h.n.stat(), nil
}

// set counts a setter and does it under the lock.
func (h *node) set(op, what string, do func(*inode) error) error {
	if err := h.fs.op(op, h.path); err != nil {
		return err
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	var err error
	switch {
	case h.closed:
		err = errBadFile
	case h.n.attrs&flagImmutable != 0 && op != host.OpSetAttrs:
		err = errNotPermit
	default:
		err = do(h.n)
	}
	if err == nil {
		h.n.ctime = h.fs.now()
		h.dirty = true
	}
	return failed(what, h.path, err)
}

// Chown clears the set-ID bits and capabilities of all but directories,
// as Linux does.
func (h *node) Chown(uid, gid uint32) error {
	return h.set(host.OpChown, "change the owner of", func(n *inode) error {
		n.uid, n.gid = uid, gid
		if n.typ == image.Directory || n.typ == image.Symlink {
			return nil
		}
		n.mode &^= 0o4000
		if n.mode&0o010 != 0 {
			n.mode &^= 0o2000
		}
		n.xattrs = maps.Clone(n.xattrs)
		delete(n.xattrs, "security.capability")
		return nil
	})
}

func (h *node) Chmod(mode uint32) error {
	return h.set(host.OpChmod, "change the mode of", func(n *inode) error {
		if n.typ == image.Symlink {
			return fmt.Errorf("links have no mode: %w", host.ErrUnsupported)
		}
		n.mode = mode & 0o7777
		return nil
	})
}

func (h *node) SetXattr(name string, value []byte) error {
	return h.set(host.OpSetXattr, "set attribute "+name+" of", func(n *inode) error {
		space, _, _ := strings.Cut(name, ".")
		switch {
		case !slices.Contains([]string{"user", "trusted", "security", "system"}, space):
			return host.ErrUnsupported
		case space == "user" && n.typ != image.Regular && n.typ != image.Directory:
			return errNotPermit
		}
		all := maps.Clone(n.xattrs)
		if all == nil {
			all = map[string][]byte{}
		}
		all[name] = slices.Clone(value)
		n.xattrs = all
		return nil
	})
}

func (h *node) RemoveXattr(name string) error {
	return h.set(host.OpRemoveXattr, "remove attribute "+name+" of", func(n *inode) error {
		if _, ok := n.xattrs[name]; !ok {
			return errNoData
		}
		all := maps.Clone(n.xattrs)
		delete(all, name)
		n.xattrs = all
		return nil
	})
}

func (h *node) SetAttrs(attrs uint32) error {
	return h.set(host.OpSetAttrs, "set flags of", func(n *inode) error {
		if attrs != 0 && n.typ != image.Regular && n.typ != image.Directory {
			return host.ErrUnsupported
		}
		n.attrs = attrs
		return nil
	})
}

func (h *node) SetTimes(atime, mtime int64) error {
	return h.set(host.OpSetTimes, "set the times of", func(n *inode) error {
		n.atime, n.mtime = atime, mtime
		return nil
	})
}

func (h *node) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return failed("close", h.path, errBadFile)
	}
	h.closed = true
	return nil
}
