package image

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/secret"
)

// Difference is one property in which two images differ, for display.
type Difference struct {
	Field string `json:"field"` // mode, owner, content, version, active, …
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Names returns the names of numeric IDs, for display.
type Names interface {
	UserName(uid uint32) string
	GroupName(gid uint32) string
}

// differ collects the properties that differ.
type differ struct{ out []Difference }

func (d *differ) add(field, before, after string) {
	if before != after {
		d.out = append(d.out, Difference{field, before, after})
	}
}

func octal(m uint32) string { return fmt.Sprintf("%04o", m) }

func hexa(v uint32) string { return "0x" + strconv.FormatUint(uint64(v), 16) }

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func list(x map[string][]byte) string { return strings.Join(slices.Sorted(maps.Keys(x)), " ") }

// short shortens a digest for display.
func short(d string) string {
	if len(d) > 19 {
		return d[:19]
	}
	return d
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// shown returns a text for display; a secret is replaced by a description.
func shown(text string) string {
	if ref, is := secret.ParseRef(text); is {
		return "secret " + strings.TrimPrefix(ref.Digest, "sha256:")[:12]
	}
	return strings.TrimSuffix(text, "\n")
}

// keyIn returns the ID of the key that encrypts text, or "" if text is not a reference to a secret.
func keyIn(text string) string {
	ref, _ := secret.ParseRef(text)
	return ref.Key
}

// wasAbsent describes an object that did not exist.
const wasAbsent = "nothing was there"

// presence describes whether an object existed.
func presence(present bool) string {
	if present {
		return "it was there already"
	}
	return wasAbsent
}
