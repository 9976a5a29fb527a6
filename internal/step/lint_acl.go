package step

import (
	"strconv"
	"strings"
)

// sharedACL reports an ACL beside the step that writes the path, if the two result in different
// modes: with an ACL the mode's group bits are the ACL's mask.
func (l *linter) sharedACL(s, o Step, j int, p string) {
	acl, ok := s.Lookup("acl")
	if _, own := s.Lookup("mode"); !ok || own || o.Verb == Link {
		return
	}
	mode, err := strconv.ParseUint(o.metadata("mode"), 8, 32)
	if err != nil {
		return
	}
	then := modeWithACL(acl, uint(mode))
	if then == uint(mode) {
		return
	}
	l.errorf(s, s.keyRange("acl", 0), "Two steps disagree",
		"%s gives %q mode=%04o, at %s, and this ACL changes it to %04o, because the group bits of a mode are the mask of an ACL. The two steps would undo each other in every run. Write mode=%04o there, and the permissions of the group as g::%s in the ACL.",
		o.Verb, clip(p), mode, where(o, j), then, then, letters(uint(mode)>>3&7))
}

// modeWithACL is the mode that a path with the given one has with the ACL. An ACL
// that the verb refuses changes nothing.
func modeWithACL(acl string, mode uint) uint {
	if acl == "" || acl == "-" {
		return mode
	}
	owner, group, other := mode>>6&7, mode>>3&7, mode&7
	var named, mask uint
	masked := false
	for entry := range strings.SplitSeq(acl, ",") {
		f := strings.Split(strings.TrimSpace(entry), ":")
		if len(f) != 3 || f[0] == "" {
			return mode
		}
		perm := bits(f[2])
		switch kind := f[0][0]; {
		case kind == 'm':
			mask, masked = perm, true
		case kind == 'o':
			other = perm
		case kind == 'u' && f[1] == "":
			owner = perm
		case kind == 'g' && f[1] == "":
			group = perm
		default:
			named |= perm
		}
	}
	if !masked {
		mask = named | group
	}
	return mode&^0o777 | owner<<6 | mask<<3 | other
}

func bits(perm string) (n uint) {
	for i, c := range "xwr" {
		if strings.ContainsRune(perm, c) {
			n |= 1 << i
		}
	}
	return n
}

func letters(n uint) string {
	out := []byte("---")
	for i, c := range []byte("rwx") {
		if n&(4>>i) != 0 {
			out[i] = c
		}
	}
	return string(out)
}
