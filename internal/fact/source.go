package fact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// source is one host while it is observed. Files and the network are read once.
type source struct {
	h    host.Reader
	boot string // identifier of the boot
	// running: the host is this machine itself and not an image on it, so
	// /proc, /sys and the network are its own.
	running    bool
	interfaces func() ([]iface, error)
	cache      map[string]string
}

// iface is one network interface with addresses as text.
type iface struct {
	name, mac string
	addresses []string
}

func newSource(h host.Host) *source {
	return &source{h: h, boot: h.BootID(), running: h.Root() == "/", interfaces: sync.OnceValues(interfaces),
		cache: map[string]string{}}
}

// maxFile is how much of a file is read. No file that facts come from is as
// large; a hostile one is cut.
const maxFile = 1 << 20

// text is the content of a file, "" when there is none. Links are followed
// inside the host.
func (s *source) text(p string) (string, error) {
	if t, ok := s.cache[p]; ok {
		return t, nil
	}
	t, err := s.load(p)
	if errors.Is(err, fs.ErrNotExist) {
		t, err = "", nil
	}
	if err == nil {
		s.cache[p] = t
	}
	return t, err
}

func (s *source) load(p string) (string, error) {
	p, err := s.follow(p)
	if err != nil {
		return "", err
	}
	f, err := s.h.Open(p)
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", p, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", p, err)
	}
	return string(bytes.ToValidUTF8(data, []byte("�"))), nil
}

// follow gives the path at the end of a chain of links.
func (s *source) follow(p string) (string, error) {
	for range 8 {
		st, err := s.h.Lstat(p)
		if err != nil || st.Type != image.Symlink {
			return p, err
		}
		target, err := s.h.Readlink(p)
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(p), target)
		}
		p = path.Clean(target)
	}
	return "", fmt.Errorf("cannot read %s: too many symbolic links", p)
}

// exists reports whether a file exists at p; unreadable paths count as missing.
func (s *source) exists(p string) bool {
	ok, err := host.Exists(s.h, p)
	return ok && err == nil
}

// word makes a value of foreign text: one line, no control characters, short.
func word(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if len(s) > 256 {
		s = strings.ToValidUTF8(s[:256], "")
	}
	return strings.TrimSpace(s)
}

// interfaces are the network interfaces of this machine, sorted by name, without
// loopbacks.
func interfaces() ([]iface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []iface
	for _, n := range list {
		if n.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, err := n.Addrs()
		if err != nil {
			continue // it was removed after it was listed
		}
		i := iface{name: n.Name, mac: n.HardwareAddr.String()}
		for _, a := range addrs {
			if ip, _, err := net.ParseCIDR(a.String()); err == nil && !ip.IsLinkLocalUnicast() {
				i.addresses = append(i.addresses, ip.String())
			}
		}
		slices.Sort(i.addresses)
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b iface) int { return strings.Compare(a.name, b.name) })
	return out, nil
}
