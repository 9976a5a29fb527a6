package step

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/secret"
)

// Verb is the operation of a step. The set is closed; Schemas lists it.
type Verb string

// The verbs. Each can observe, do and undo, except ACT, WAIT and CHECK, which change nothing that
// could be undone.
const (
	Mkdir   Verb = "MKDIR"
	Copy    Verb = "COPY"
	Link    Verb = "LINK"
	Meta    Verb = "META"
	Rm      Verb = "RM"
	Edit    Verb = "EDIT"
	User    Verb = "USER"
	Group   Verb = "GROUP"
	Member  Verb = "MEMBER"
	Pkg     Verb = "PKG"
	Unit    Verb = "UNIT"
	Sysctl  Verb = "SYSCTL"
	Exec    Verb = "EXEC"
	Act     Verb = "ACT"
	Wait    Verb = "WAIT"
	Check   Verb = "CHECK"
	Include Verb = "INCLUDE"
)

// Attr is one key=value. A key that its schema calls a list can occur repeatedly; every other key
// occurs once.
type Attr struct{ Key, Value string }

// Step is one line of a list. It is immutable: share it, never change it.
type Step struct {
	Verb  Verb
	Args  []string // the subjects, unquoted, in order
	Attrs []Attr   // in the schema's order
	// Source is the origin of the step, "file:line" in the repository. It is printed after "#@" and
	// is not part of the step's identity.
	Source string
	// Written is the line as the author wrote it, without newline and source comment; "" for a step
	// without an author.
	Written string
	// Range is the place of the line in its own list file.
	Range diag.Range
	// canonical is the result of String, if Kept has cached it.
	canonical string
	// Trace are the INCLUDE lines that brought the step in, innermost first;
	// nil for a step of the top list. Resolve fills it.
	Trace []diag.Range
}

// Get is the value of the attribute, "" when it is absent; of a list key, the first.
func (s Step) Get(key string) string {
	v, _ := s.Lookup(key)
	return v
}

// Lookup is like Get, but distinguishes an absent attribute from an empty one.
func (s Step) Lookup(key string) (string, bool) {
	for _, a := range s.Attrs {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// All is every value of a list key, in order.
func (s Step) All(key string) []string {
	var out []string
	for _, a := range s.Attrs {
		if a.Key == key {
			out = append(out, a.Value)
		}
	}
	return out
}

// Absent reports whether the desired state of the address is absence: RM, ensure=absent or
// ensure=purged.
func (s Step) Absent() bool {
	e := s.Get("ensure")
	return s.Verb == Rm || e == "absent" || e == "purged"
}

// Purged reports whether a package must be deleted with its configuration and data.
func (s Step) Purged() bool { return s.Get("ensure") == "purged" }

// Path is the path that the step writes, "" for a step that is about no path.
// The region of an EDIT may hold any character, so the path is taken from the
// subject and not from the address.
func (s Step) Path() string {
	if s.Verb == Edit && len(s.Args) > 0 {
		return s.Args[0]
	}
	return s.Addr().Path()
}

// Blob is the digest ("sha256:" and 64 hex digits) of the content that a COPY
// step names, "" for other verbs and for a source still written as a path.
func (s Step) Blob() string {
	if s.Verb == Copy && len(s.Args) == 2 && IsDigest(s.Args[0]) {
		return s.Args[0]
	}
	return ""
}

// Blobs are the digests of all content that the step needs: Blob, and the
// secrets that its attributes refer to.
func (s Step) Blobs() []string {
	if d := s.Blob(); d != "" {
		return []string{d}
	}
	var out []string
	for _, ref := range s.secrets() {
		out = append(out, ref.Digest)
	}
	return out
}

// Keys are the IDs of the keys that the step's content is sealed with.
func (s Step) Keys() []string {
	if k := s.Get("sealed"); k != "" {
		return []string{k}
	}
	var out []string
	for _, ref := range s.secrets() {
		out = append(out, ref.Key)
	}
	return out
}

func (s Step) secrets() []secret.Ref {
	var out []secret.Ref
	for _, a := range s.Attrs {
		if ref, ok := s.refersTo(a); ok {
			out = append(out, ref)
		}
	}
	return out
}

// refersTo returns the secret that an attribute references; ok is false for a literal value.
func (s Step) refersTo(a Attr) (ref secret.Ref, ok bool) {
	value := a.Value
	switch {
	case s.Verb == Exec && a.Key == "env":
		_, value, _ = strings.Cut(a.Value, "=")
	case s.Verb == User && a.Key == "password":
	case s.Verb == Edit && (a.Key == "content" || a.Key == "line" || a.Key == "value"):
	default:
		return ref, false
	}
	return secret.ParseRef(value)
}

// Secret is the secret that the region of an EDIT or the password of a USER is; ok
// is false where it is none.
func (s Step) Secret() (ref secret.Ref, ok bool) {
	if s.Verb != Edit && s.Verb != User {
		return ref, false
	}
	for _, a := range s.Attrs {
		if ref, ok = s.refersTo(a); ok {
			return ref, true
		}
	}
	return ref, false
}

// Revealed returns the step with its secret instead of the reference. It is only for the verb: its
// text must not be shown or stored.
func (s Step) Revealed(content string) Step {
	out := Step{Verb: s.Verb, Args: s.Args, Attrs: slices.Clone(s.Attrs)}
	for i, a := range out.Attrs {
		if _, ok := s.refersTo(a); ok {
			out.Attrs[i].Value = content
		}
	}
	return out
}

// Addr returns the address that the step manages. Two steps of one list never share an address,
// except for ACT, which can be repeated later in the list.
func (s Step) Addr() addr.Addr {
	arg := func(i int) string {
		if i < len(s.Args) {
			return s.Args[i]
		}
		return ""
	}
	switch s.Verb {
	case Mkdir, Rm:
		return addr.File(arg(0))
	case Copy, Link:
		return addr.File(arg(1))
	case Meta:
		return addr.New(addr.KindMeta, arg(0))
	case Edit:
		return addr.New(addr.KindEdit, arg(0)+"#"+s.region())
	case User:
		return addr.New(addr.KindUser, arg(0))
	case Group:
		return addr.New(addr.KindGroup, arg(0))
	case Member:
		return addr.New(addr.KindMember, arg(0)+"/"+arg(1))
	case Pkg:
		return addr.New(addr.KindPkg, arg(0))
	case Unit:
		return addr.New(addr.KindUnit, arg(0))
	case Sysctl:
		return addr.New(addr.KindSysctl, arg(0))
	case Exec:
		return addr.New(addr.KindExec, arg(0))
	case Act:
		return addr.New(addr.KindAct, arg(0)+"/"+arg(1))
	case Wait:
		return addr.New(addr.KindWait, arg(0))
	case Check:
		return addr.New(addr.KindCheck, arg(0))
	}
	return ""
}

// region names the part of a file that an EDIT owns: its marked block, its
// key, the expression that finds its line, or the line itself.
func (s Step) region() string {
	for _, key := range []string{"block", "key", "match", "line"} {
		if v, ok := s.Lookup(key); ok {
			return key + ":" + v
		}
	}
	return ""
}

// Same reports whether two steps have the same text in canonical form, independent of their origin and their locks:
// a step that only needs another lock brings about the same state.
func (s Step) Same(o Step) bool {
	if s.String() == o.String() {
		return true
	}
	return (s.Locked() || o.Locked()) && s.withoutLocks().String() == o.withoutLocks().String()
}

// LockKey is the attribute with the name of a lock, and MaxLocks the maximum number of locks of a step and of a run.
const (
	LockKey  = "lock"
	MaxLocks = 10
)

// Locks returns the names of the locks that a run of the step needs, sorted.
func (s Step) Locks() []string {
	names := s.All(LockKey)
	slices.Sort(names)
	return slices.Compact(names)
}

// Locked reports whether the step has locks.
func (s Step) Locked() bool {
	_, ok := s.Lookup(LockKey)
	return ok
}

func (s Step) withoutLocks() Step {
	s.Attrs = slices.DeleteFunc(slices.Clone(s.Attrs), func(a Attr) bool { return a.Key == LockKey })
	s.canonical = ""
	return s
}

// List is an ordered list of steps: the desired state of a target.
type List []Step

// Digest names the list by its canonical text without source comments:
// "sha256:" and 64 hex digits.
func (l List) Digest() string {
	h := sha256.New()
	var line []byte
	for _, s := range l {
		line = append(s.appendTo(line[:0]), '\n')
		h.Write(line)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// IsDigest reports whether s is "sha256:" and 64 lower-case hex digits.
func IsDigest(s string) bool {
	const prefix = "sha256:"
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for _, c := range s[len(prefix):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
