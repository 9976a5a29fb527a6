// Package debver parses and compares version numbers of Debian packages, as deb-version(7) and dpkg
// define them.
//
//	debver.Compare("1.0~rc1-1", "1.0-1") // -1: a tilde sorts before the end
//
// It is pure: it never runs dpkg.
package debver

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is one version number in its three parts.
type Version struct {
	Epoch    int
	Upstream string
	Revision string // "" for a native package
}

// Parse parses [epoch:]upstream[-revision]. The error names the invalid part.
func Parse(s string) (Version, error) {
	v, err := split(s)
	if err != nil {
		return Version{}, fmt.Errorf("cannot read package version %q: %w", s, err)
	}
	return v, nil
}

func split(s string) (Version, error) {
	var v Version
	if s == "" {
		return v, fmt.Errorf("it is empty")
	}
	rest := s
	if e, after, ok := strings.Cut(s, ":"); ok {
		n, err := strconv.ParseInt(e, 10, 32)
		if err != nil || n < 0 || e[0] == '+' {
			return v, fmt.Errorf("the epoch before the colon is not a number")
		}
		v.Epoch, rest = int(n), after
	}
	v.Upstream = rest
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		v.Upstream, v.Revision = rest[:i], rest[i+1:]
		if v.Revision == "" {
			return v, fmt.Errorf("nothing follows the last hyphen")
		}
	}
	if v.Upstream == "" || !isDigit(v.Upstream[0]) {
		return v, fmt.Errorf("it does not begin with a digit")
	}
	if c, bad := firstOther(v.Upstream, ".-+~:"); bad {
		return v, fmt.Errorf("the character %q is not allowed", c)
	}
	if c, bad := firstOther(v.Revision, ".+~"); bad {
		return v, fmt.Errorf("the character %q is not allowed in the revision", c)
	}
	return v, nil
}

// firstOther finds a character that is neither a letter or digit of ASCII nor
// one of also.
func firstOther(s, also string) (rune, bool) {
	for _, c := range s {
		if c < 0x80 && (isDigit(byte(c)) || isLetter(byte(c)) || strings.ContainsRune(also, c)) {
			continue
		}
		return c, true
	}
	return 0, false
}

// String is the form that Parse reads; an epoch of 0 is left out.
func (v Version) String() string {
	s := v.Upstream
	if v.Revision != "" {
		s += "-" + v.Revision
	}
	// Without its epoch an upstream part with a colon would be read otherwise.
	if v.Epoch != 0 || strings.Contains(v.Upstream, ":") {
		s = strconv.Itoa(v.Epoch) + ":" + s
	}
	return s
}

// Compare returns -1, 0 or 1 if v is older than, equal to or newer than o.
func (v Version) Compare(o Version) int {
	if c := cmp.Compare(v.Epoch, o.Epoch); c != 0 {
		return c
	}
	if c := compareRun(v.Upstream, o.Upstream); c != 0 {
		return c
	}
	return compareRun(v.Revision, o.Revision)
}

// Compare compares two texts. Invalid versions sort before every valid version, and by bytes among
// themselves, so that the order is total.
func Compare(a, b string) int {
	va, errA := Parse(a)
	vb, errB := Parse(b)
	switch {
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	}
	return va.Compare(vb)
}

// compareRun walks two parts in turns: a stretch without digits by dpkg's
// letter order, then a number by value.
func compareRun(a, b string) int {
	for a != "" || b != "" {
		var c int
		if a, b, c = skipText(a, b); c != 0 {
			return c
		}
		var na, nb string
		na, a = cutNumber(a)
		nb, b = cutNumber(b)
		if c := cmp.Compare(len(na), len(nb)); c != 0 {
			return c
		}
		if c := strings.Compare(na, nb); c != 0 {
			return c
		}
	}
	return 0
}

func skipText(a, b string) (restA, restB string, c int) {
	for (a != "" && !isDigit(a[0])) || (b != "" && !isDigit(b[0])) {
		if c := cmp.Compare(order(a), order(b)); c != 0 {
			return a, b, c
		}
		// Equal order means the same character on both sides: a digit and
		// the end both weigh 0, but then the other side would differ.
		a, b = a[1:], b[1:]
	}
	return a, b, 0
}

// order weighs the first character: tilde before the end of the part, digits like the end, letters,
// then all other characters.
func order(s string) int {
	switch {
	case s == "" || isDigit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case isLetter(s[0]):
		return int(s[0])
	}
	return int(s[0]) + 256
}

// cutNumber takes the leading number, without its leading zeros.
func cutNumber(s string) (number, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return strings.TrimLeft(s[:i], "0"), s[i:]
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
