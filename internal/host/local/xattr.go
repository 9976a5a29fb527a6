package local

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// Xattrs implements host.Reader.
func (h *Host) Xattrs(path string) (map[string][]byte, error) {
	p, err := h.reading("read attributes of", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	all, err := readXattrs(procFD(p.fd) + "/" + p.base)
	return all, failed("read attributes of", path, err)
}

func readXattrs(path string) (map[string][]byte, error) {
	list, err := grow(func(buf []byte) (int, error) { return unix.Llistxattr(path, buf) })
	if errors.Is(err, unix.EOPNOTSUPP) || (err == nil && len(list) == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if twin(name) {
			continue
		}
		value, err := grow(func(buf []byte) (int, error) { return unix.Lgetxattr(path, name, buf) })
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// twin reports whether an attribute is a second view of an ACL that is also listed under its own
// name: XFS shows both.
func twin(name string) bool {
	return name == "trusted.SGI_ACL_FILE" || name == "trusted.SGI_ACL_DEFAULT"
}

// grow reads something whose size may change between asking and reading.
func grow(read func([]byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := read(buf)
		if errors.Is(err, unix.ERANGE) && size < 1<<20 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

func (n *node) SetXattr(name string, value []byte) error {
	if err := n.begin(host.OpSetXattr); err != nil {
		return err
	}
	if n.opath {
		return failed("set attribute "+name+" of", n.path,
			whole(func() error { return unix.Setxattr(n.proc(), name, value, 0) }))
	}
	return failed("set attribute "+name+" of", n.path, whole(func() error { return unix.Fsetxattr(n.fd, name, value, 0) }))
}

func (n *node) RemoveXattr(name string) error {
	if err := n.begin(host.OpRemoveXattr); err != nil {
		return err
	}
	if n.opath {
		return failed("remove attribute "+name+" of", n.path, whole(func() error { return unix.Removexattr(n.proc(), name) }))
	}
	return failed("remove attribute "+name+" of", n.path, whole(func() error { return unix.Fremovexattr(n.fd, name) }))
}
