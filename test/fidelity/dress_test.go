package fidelity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	immutable  = 0x10
	appendOnly = 0x20
)

// dress gives a path random metadata, in the order that keeps all of it.
func (g *planter) dress(p string, t *thing) error {
	if g.oneIn(4) {
		return g.times(p)
	}
	if err := os.Lchown(p, g.id(), g.id()); err != nil {
		return err
	}
	if t.kind != link {
		m := pick(g.Rand, 0o644, 0o600, 0o755, 0o4755, 0o2755, 0o6711, 0o1777, 0, 0o7777, uint32(g.IntN(0o10000)))
		if err := unix.Chmod(p, m); err != nil {
			return err
		}
	}
	for range g.IntN(4) {
		if err := g.xattr(p, t); err != nil {
			return err
		}
	}
	if err := g.times(p); err != nil {
		return err
	}
	return g.flags(p, t)
}

func (g *planter) id() int {
	return pick(g.Rand, 0, 0, 33, 1000, 4242, 65534, 4_000_000_000, g.IntN(1<<31))
}

// times are any from 1902 to 2261, to the nanosecond, and the beginning of time.
func (g *planter) times(p string) error {
	sec := pick(g.Rand, 0, 1_700_000_000, g.Int64N(1_800_000_000), -g.Int64N(2_000_000_000), g.Int64N(9_200_000_000))
	ts := unix.Timespec{Sec: sec, Nsec: pick(g.Rand, 0, 1, 999_999_999, g.Int64N(1_000_000_000))}
	return unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

func (g *planter) xattr(p string, t *thing) error {
	name, value := "trusted."+pick(g.Rand, "a", "overlay.x", "ünï"), g.bytes(g.IntN(60))
	inodes := t.kind == file || t.kind == dir
	switch g.IntN(7) {
	case 0, 1:
		if inodes {
			name = "user." + pick(g.Rand, "k", "mime_type", "empty")
			value = g.bytes(pick(g.Rand, 0, 3, 300, 1500))
		}
	case 2:
		name = "security.fettle"
	case 3:
		if t.kind == file {
			name, value = "security.capability", capability(g.Uint32())
		}
	case 4, 5:
		if t.kind != link {
			name, value = "system.posix_acl_access", g.acl()
		}
	case 6:
		if t.kind == dir {
			name, value = "system.posix_acl_default", g.acl()
		}
	}
	if !g.fs.has(name) {
		return nil
	}
	g.tally[name]++
	err := unix.Lsetxattr(p, name, value, 0)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EPERM) && t.kind == link {
		return nil // this inode has no room for more, or can have none
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// capability is a file capability as setcap writes it, with the effective bit.
func capability(permitted uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x02000001)
	b = binary.LittleEndian.AppendUint32(b, permitted)
	return append(b, make([]byte, 12)...)
}

// acl is a random valid access list in the kernel's form.
func (g *planter) acl() []byte {
	type one struct {
		tag uint16
		id  uint32
	}
	const none = 0xffffffff
	all := []one{{1, none}, {4, none}, {16, none}, {32, none}}
	for i := range g.IntN(4) {
		all = append(all, one{pick(g.Rand, uint16(2), 8), uint32(33 + 1000*i)})
	}
	slices.SortFunc(all, func(a, b one) int {
		if a.tag != b.tag {
			return int(a.tag) - int(b.tag)
		}
		return int(a.id) - int(b.id)
	})
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range all {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(g.IntN(8)))
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// flags sets inode flags. Those that stop changes come when all else is there,
// and never on what another name will be given to.
func (g *planter) flags(p string, t *thing) error {
	if !g.fs.flags || t.kind != file && t.kind != dir || t.many || !g.oneIn(5) {
		return nil
	}
	v := pick(g.Rand, 0x40, 0x80, 0x8, 0x40|0x80, immutable, appendOnly, immutable|0x40)
	t.fixed = v&(immutable|appendOnly) != 0
	g.tally["flags"]++
	return setFlags(p, v, modifiable)
}

// setFlags sets the inode flags of mask.
func setFlags(p string, v, mask int) error {
	f, err := os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOATIME, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, old&^mask|v)
}

// uproot removes a tree, whatever holds it.
func uproot(root string) error {
	_ = filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			_ = setFlags(p, 0, immutable|appendOnly)
		}
		return nil
	})
	return os.RemoveAll(root)
}
