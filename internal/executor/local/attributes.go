package local

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// driftedAttributes adds changed attributes of managed paths to a drift plan, such as an
// access control list that was added by hand. No step sets these attributes and Apply
// does not change them, so they are only reported.
func (x *planner) driftedAttributes(p *plan.Plan, st journal.State, kinds []string) {
	known := map[string]bool{}
	for _, c := range p.Changes {
		known[c.Addr.Path()] = true
	}
	recs := map[int]map[string]image.File{}
	for _, e := range st.Entries {
		at := e.Addr.Path()
		if k := e.Addr.Kind(); k != addr.KindFile && k != addr.KindMeta || e.PurgedBy != "" || known[at] {
			continue
		}
		now, err := capture.Metadata(x.host, at)
		if err != nil || now.Type == image.Absent || now.Type == image.Symlink {
			continue // an unreadable path is already drift
		}
		left, ok := x.leftAt(at, st.Entries, recs)
		if !ok {
			continue
		}
		if ds := differentAttributes(left, now, kinds); len(ds) > 0 {
			known[at] = true
			p.Unchanged--
			p.Changes = append(p.Changes, plan.Change{Action: plan.Drift, Addr: e.Addr, Step: e.Step, Source: e.Src,
				Drifted: true, Differences: ds,
				Why: "attributes that no state declares were changed by hand; apply does not change them"})
		}
	}
}

// leftAt is the state in which the last run that changed a path left it. It is read from
// the journal of that run, or from the image that was recorded at adoption. ok is false
// if it is unknown.
func (x *planner) leftAt(at string, entries []journal.Entry, read map[int]map[string]image.File) (image.File, bool) {
	var last journal.Entry
	for _, e := range entries {
		if e.Addr.Path() == at && e.Run > last.Run {
			last = e
		}
	}
	if read[last.Run] == nil {
		read[last.Run] = x.left(last.Run)
	}
	if f, ok := read[last.Run][at]; ok {
		return f, true
	}
	if last.Adopted != nil && last.Adopted.File() != nil {
		return *last.Adopted.File(), true
	}
	return fromOrigin(last)
}

// fromOrigin returns the attributes that an entry must have if its journal is removed.
// The original attributes are kept, except capabilities of different content.
func fromOrigin(e journal.Entry) (image.File, bool) {
	if e.Origin == nil || e.Origin.File() == nil || e.Addr.Kind() != addr.KindFile {
		return image.File{}, false
	}
	f := *e.Origin.File()
	if f.Type == image.Absent || f.Type == image.Symlink {
		return image.File{}, true
	}
	if f.Type == image.Regular && !strings.Contains(e.Step.String(), f.Digest) {
		f.Xattrs = maps.Clone(f.Xattrs)
		delete(f.Xattrs, "security.capability")
	}
	return f, true
}

// left are the paths that a run changed, as it left them; none where its journal is gone.
func (x *planner) left(run int) map[string]image.File {
	out := map[string]image.File{}
	recs, err := x.store.Read(run)
	if err != nil {
		return out
	}
	for _, r := range recs {
		if r.Kind == journal.Move && !r.Back && r.To != nil && r.To.File() != nil {
			out[r.Path] = *r.To.File()
		}
	}
	return out
}

// flags are the compared inode flags: the flags that META can set.
const flags = host.AttrImmutable | host.AttrAppend | 0x8 | 0x40 | 0x80

// differentAttributes compares the attributes of the kinds that were asked for.
func differentAttributes(left, now image.File, kinds []string) []image.Difference {
	var out []image.Difference
	for _, kind := range kinds {
		if kind == "flags" {
			if a, b := left.Attrs&flags, now.Attrs&flags; a != b {
				out = append(out, image.Difference{Field: kind, Old: fmt.Sprintf("%#x", b), New: fmt.Sprintf("%#x", a)})
			}
			continue
		}
		a, b := ofKind(left.Xattrs, kind), ofKind(now.Xattrs, kind)
		if !maps.EqualFunc(a, b, bytes.Equal) {
			out = append(out, image.Difference{Field: kind, Old: named(b, a), New: named(a, b)})
		}
	}
	return out
}

func ofKind(xattrs map[string][]byte, kind string) map[string][]byte {
	out := map[string][]byte{}
	for name, v := range xattrs {
		if attributeKind(name) == kind {
			out[name] = v
		}
	}
	return out
}

func attributeKind(name string) string {
	switch {
	case strings.HasPrefix(name, "system.posix_acl_"):
		return "acl"
	case name == "security.capability":
		return "capability"
	case strings.HasPrefix(name, "user."):
		return "user"
	}
	return "other"
}

// named lists attributes by name. It marks attributes that are in both maps with
// different values.
func named(a, other map[string][]byte) string {
	if len(a) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(a))
	for i, n := range names {
		if v, ok := other[n]; ok && !bytes.Equal(v, a[n]) {
			names[i] += " (another value)"
		}
	}
	return strings.Join(names, " ")
}
