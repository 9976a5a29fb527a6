package paths

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/verb"
)

// The kernel's form of an access ACL (linux/posix_acl_xattr.h): a version, then
// entries of tag, permissions and id, sorted by tag and id, little endian.
const (
	aclXattr   = "system.posix_acl_access"
	aclVersion = 2
	aclNoID    = 0xffffffff

	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
)

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

// setACL sets the ACL of f to text: entries such as u:bob:rw or g:adm:r joined by commas, see
// setfacl(1). The owner, group and other entries are taken from the mode unless text has them; the
// mask is computed unless it is given. "-" or "" removes the ACL.
func setACL(f *image.File, text string, modeGiven bool, n verb.Names) error {
	f.Xattrs = maps.Clone(f.Xattrs)
	group := uint16(f.Mode >> 3 & 7)
	if old, ok := f.Xattrs[aclXattr]; ok { // the mode's group bits are the mask
		if p, ok := groupPerm(old); ok && !modeGiven {
			group = p
		}
		delete(f.Xattrs, aclXattr)
		f.Mode = f.Mode&^0o070 | uint32(group)<<3
	}
	if text == "" || text == "-" {
		return nil
	}
	entries, err := parseACL(text, n)
	if err != nil {
		return err
	}
	entries = complete(entries, f.Mode)
	f.Mode = f.Mode&^0o777 | modeOf(entries)
	if f.Xattrs == nil {
		f.Xattrs = map[string][]byte{}
	}
	f.Xattrs[aclXattr] = encodeACL(entries)
	return nil
}

func parseACL(text string, n verb.Names) ([]aclEntry, error) {
	var out []aclEntry
	for _, part := range strings.Split(text, ",") {
		f := strings.Split(strings.TrimSpace(part), ":")
		if len(f) != 3 {
			return nil, fmt.Errorf("cannot read ACL entry %q: write it as u:NAME:rwx, g:NAME:rwx, m::rwx or o::rwx", part)
		}
		e, err := parseEntry(f[0], f[1], n)
		if err != nil {
			return nil, fmt.Errorf("cannot read ACL entry %q: %w", part, err)
		}
		if e.perm, err = parsePerm(f[2]); err != nil {
			return nil, fmt.Errorf("cannot read ACL entry %q: %w", part, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func parseEntry(tag, name string, n verb.Names) (e aclEntry, err error) {
	e.id = aclNoID
	switch tag {
	case "u", "user":
		if e.tag = aclUserObj; name != "" {
			e.tag = aclUser
			e.id, err = n.UID(name)
		}
	case "g", "group":
		if e.tag = aclGroupObj; name != "" {
			e.tag = aclGroup
			e.id, err = n.GID(name)
		}
	case "m", "mask":
		e.tag = aclMask
	case "o", "other":
		e.tag = aclOther
	default:
		err = fmt.Errorf("%q is not one of u, g, m, o", tag)
	}
	return e, err
}

func parsePerm(s string) (p uint16, err error) {
	for _, c := range s {
		switch c {
		case 'r':
			p |= 4
		case 'w':
			p |= 2
		case 'x':
			p |= 1
		case '-':
		default:
			return 0, fmt.Errorf("%q is not one of r, w, x, -", c)
		}
	}
	return p, nil
}

// complete adds the entries that every ACL must have.
func complete(entries []aclEntry, mode uint32) []aclEntry {
	have := func(tag uint16) bool {
		return slices.ContainsFunc(entries, func(e aclEntry) bool { return e.tag == tag })
	}
	for _, b := range []struct {
		tag   uint16
		shift uint
	}{{aclUserObj, 6}, {aclGroupObj, 3}, {aclOther, 0}} {
		if !have(b.tag) {
			entries = append(entries, aclEntry{b.tag, uint16(mode >> b.shift & 7), aclNoID})
		}
	}
	if !have(aclMask) {
		var mask uint16
		for _, e := range entries {
			if e.tag == aclUser || e.tag == aclGroup || e.tag == aclGroupObj {
				mask |= e.perm
			}
		}
		entries = append(entries, aclEntry{aclMask, mask, aclNoID})
	}
	slices.SortFunc(entries, func(a, b aclEntry) int {
		if a.tag != b.tag {
			return int(a.tag) - int(b.tag)
		}
		return int(int64(a.id) - int64(b.id))
	})
	return entries
}

// modeOf returns the mode that the kernel shows for an ACL, with the mask as the group's
// permissions.
func modeOf(entries []aclEntry) (m uint32) {
	for _, e := range entries {
		switch e.tag {
		case aclUserObj:
			m |= uint32(e.perm) << 6
		case aclMask:
			m |= uint32(e.perm) << 3
		case aclOther:
			m |= uint32(e.perm)
		}
	}
	return m
}

func encodeACL(entries []aclEntry) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// maskACL makes the ACL that f keeps agree with its mode, as chmod does: the
// entries of owner and others, and the mask, are the mode's bits.
func maskACL(f *image.File) {
	old, ok := f.Xattrs[aclXattr]
	if !ok {
		return
	}
	b := bytes.Clone(old)
	group := -1 // where the mask, or without one the owning group, has its permissions
	for i := 4; i+8 <= len(b); i += 8 {
		switch tag := binary.LittleEndian.Uint16(b[i:]); tag {
		case aclUserObj:
			binary.LittleEndian.PutUint16(b[i+2:], uint16(f.Mode>>6&7))
		case aclOther:
			binary.LittleEndian.PutUint16(b[i+2:], uint16(f.Mode&7))
		case aclGroupObj:
			if group < 0 {
				group = i + 2
			}
		case aclMask:
			group = i + 2
		}
	}
	if group >= 0 {
		binary.LittleEndian.PutUint16(b[group:], uint16(f.Mode>>3&7))
	}
	f.Xattrs = maps.Clone(f.Xattrs)
	f.Xattrs[aclXattr] = b
}

// groupPerm is the permission of the owning group in an encoded ACL.
func groupPerm(b []byte) (uint16, bool) {
	for i := 4; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint16(b[i:]) == aclGroupObj {
			return binary.LittleEndian.Uint16(b[i+2:]), true
		}
	}
	return 0, false
}
