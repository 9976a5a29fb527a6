// Package semver parses and compares the versions of modules, and constraints on them.
//
//	v, err := semver.Parse("1.4.0-rc1")
//	c, err := semver.ParseConstraint(">= 1.4, < 2")
//	c.Allows(v) // false: 1.4.0-rc1 precedes 1.4.0
//
// Versions follow Semantic Versioning 2.0, except that the last numbers can be missing: 1.4 is 1.4.0. Build metadata is
// not allowed, because it has no order.
package semver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxLength is the maximum length of a version and of a constraint, in bytes.
const MaxLength = 200

// Version is a version of a module.
type Version struct {
	numbers    [3]uint64
	count      int      // of the numbers in the text, from 1 to 3
	prerelease []string // its identifiers; none for a release
}

// Parse parses a version. The error quotes the text and shows users how to write it.
func Parse(text string) (Version, error) {
	var v Version
	if len(text) > MaxLength {
		return v, fmt.Errorf("a version has at most %d characters", MaxLength)
	}
	numbers, prerelease, isPrerelease := strings.Cut(text, "-")
	list := strings.Split(numbers, ".")
	if len(list) > len(v.numbers) {
		return v, invalid(text)
	}
	for i, s := range list {
		n, ok := number(s)
		if !ok {
			return v, invalid(text)
		}
		v.numbers[i] = n
	}
	v.count = len(list)
	if isPrerelease {
		v.prerelease = strings.Split(prerelease, ".")
	}
	for _, s := range v.prerelease {
		_, isNumber := number(s)
		if s == "" || strings.Trim(s, identifier) != "" || strings.Trim(s, digits) == "" && !isNumber {
			return v, invalid(text)
		}
	}
	return v, nil
}

const (
	digits     = "0123456789"
	identifier = digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
)

// number reads a number without leading zeros.
func number(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return n, err == nil && strconv.FormatUint(n, 10) == s
}

func invalid(text string) error {
	return fmt.Errorf("%.80q is not a version: write up to three numbers such as 1.4.0, and -rc1 for a prerelease", text)
}

// FromTag returns the version that a git tag names: 1.4.0 for v1.4.0, 1.4.0 and base/v1.4.0. For other tags and for
// branches it returns "".
func FromTag(tag string) string {
	text := strings.TrimPrefix(tag[strings.LastIndex(tag, "/")+1:], "v")
	if _, err := Parse(text); err != nil || !strings.Contains(text, ".") {
		return ""
	}
	return text
}

// Compare returns -1, 0 or 1 if v is older than, equal to or newer than o. A prerelease is older than its release.
func (v Version) Compare(o Version) int {
	if c := slices.Compare(v.numbers[:], o.numbers[:]); c != 0 {
		return c
	}
	switch a, b := len(v.prerelease), len(o.prerelease); {
	case a == 0 || b == 0:
		return cmp.Compare(b, a)
	default:
		return slices.CompareFunc(v.prerelease, o.prerelease, compareIdentifiers)
	}
}

// compareIdentifiers compares numbers by value, and sorts them before other texts.
func compareIdentifiers(a, b string) int {
	x, isNumber := number(a)
	y, bothNumbers := number(b)
	switch {
	case isNumber && bothNumbers:
		return cmp.Compare(x, y)
	case isNumber:
		return -1
	case bothNumbers:
		return 1
	}
	return strings.Compare(a, b)
}
