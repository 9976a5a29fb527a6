// Package addr defines the names of managed things. An address is "kind:name" and has the same form
// in lists, journals, plans and messages.
//
//	a := addr.File("/etc/motd") // "file:/etc/motd"
//	a.Kind() == addr.KindFile && a.Name() == "/etc/motd"
//
// Parse and String are inverse to each other. An address can contain any bytes except NUL; it is
// quoted only when it is printed into a list.
package addr

import (
	"fmt"
	"strings"
)

// Addr is the name of one thing on a target. The zero value names nothing.
type Addr string

// Kind is the family that an address belongs to, which is also the family of
// the image that is found there.
type Kind string

// The families. MKDIR, COPY, LINK and RM share KindFile, so a path that turns
// from a file into a link is one address that changes.
const (
	KindFile   Kind = "file"   // a path and everything at it
	KindMeta   Kind = "meta"   // owner, group, mode, ACL, attributes of an unmanaged path
	KindEdit   Kind = "edit"   // one region inside a file: edit:/etc/hosts#block:NAME
	KindUser   Kind = "user"   // an account
	KindGroup  Kind = "group"  // a Unix group
	KindMember Kind = "member" // member:USER/GROUP
	KindPkg    Kind = "pkg"    // an apt package
	KindUnit   Kind = "unit"   // a systemd unit
	KindSysctl Kind = "sysctl" // a kernel setting at run time
	KindExec   Kind = "exec"   // a command
	KindAct    Kind = "act"    // a lazy action: act:reload/nginx.service
	KindWait   Kind = "wait"   // a wait for a condition
	KindCheck  Kind = "check"  // a verification

	// KindProgram is a program by its name, to be found in PATH. It is only ever
	// needed, never managed.
	KindProgram Kind = "program"
)

// Kinds lists every family in the order above.
func Kinds() []Kind {
	return []Kind{KindFile, KindMeta, KindEdit, KindUser, KindGroup, KindMember, KindPkg, KindUnit, KindSysctl, KindExec,
		KindAct, KindWait, KindCheck}
}

// New joins a family and a name.
func New(k Kind, name string) Addr { return Addr(string(k) + ":" + name) }

// File is the address of a path.
func File(path string) Addr { return New(KindFile, path) }

// Kind is the part before the first colon.
func (a Addr) Kind() Kind {
	k, _, _ := strings.Cut(string(a), ":")
	return Kind(k)
}

// Name is the part after the first colon.
func (a Addr) Name() string {
	_, n, _ := strings.Cut(string(a), ":")
	return n
}

// Path is the path that the address is about, "" when it is about none: the
// name itself for files and metadata, the part before '#' for regions.
func (a Addr) Path() string {
	switch a.Kind() {
	case KindFile, KindMeta:
		return a.Name()
	case KindEdit:
		return beforeRegion(a.Name())
	}
	return ""
}

// beforeRegion returns the path of an edited file. Both the path and the region can contain '#', so
// the path ends before the first mark of a region.
func beforeRegion(name string) string {
	end := -1
	for _, mark := range []string{"#block:", "#key:", "#match:", "#line:"} {
		if i := strings.Index(name, mark); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if end < 0 {
		end = strings.LastIndex(name, "#")
	}
	return name[:max(0, end)]
}

func (a Addr) String() string { return string(a) }

// Parse reads "kind:name". It fails on an unknown family, an empty name and
// a NUL byte.
func Parse(s string) (Addr, error) {
	k, n, ok := strings.Cut(s, ":")
	if !ok || n == "" {
		return "", fmt.Errorf("cannot read address %q: it is not KIND:NAME, for example file:/etc/motd", s)
	}
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("cannot read address %q: it contains a NUL byte", s)
	}
	for _, known := range Kinds() {
		if Kind(k) == known {
			return Addr(s), nil
		}
	}
	return "", fmt.Errorf("cannot read address %q: there is no kind of address %q", s, k)
}
