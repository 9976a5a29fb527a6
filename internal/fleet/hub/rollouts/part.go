package rollouts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// rootPart is the name of the root bundle in changes. Modules have the names of their directories.
const rootPart = "top"

func partName(a fleet.Assigned) string {
	if a.Module == "" {
		return rootPart
	}
	return a.Module
}

// digest identifies the content of a part: equal parts of different commits have the same digest.
func digest(a fleet.Assigned) string {
	text, err := json.Marshal([]any{a.Bundle.Digest, a.Revision.Repository, a.Revision.Branch, a.Revision.Signer, a.Needs})
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// find returns the part with a name; ok is false if the assignment has none. A withdrawn assignment has no parts.
func find(a *fleet.Assignment, part string) (found fleet.Assigned, ok bool) {
	if a == nil || a.Withdrawn != "" {
		return found, false
	}
	if part == rootPart {
		return a.Root, true
	}
	for _, m := range a.Modules {
		if m.Module == part {
			return m, true
		}
	}
	return found, false
}

// has returns the digest of a part of an assignment; "" means none.
func has(a *fleet.Assignment, part string) string {
	if found, ok := find(a, part); ok {
		return digest(found)
	}
	return ""
}

// wants returns the changes from one assignment to another, sorted by part as in want.
func wants(was *fleet.Assignment, want fleet.Assignment) []rollout.Change {
	if was != nil && was.Withdrawn == "" && sameContent(was.Root, want.Root) &&
		fleet.SameModules(was.Modules, want.Modules) {
		return nil // the usual case, without a digest
	}
	var out []rollout.Change
	wanted := map[string]bool{}
	for _, p := range parts(want) {
		name := partName(p)
		wanted[name] = true
		old, ok := find(was, name)
		if !ok || !sameContent(old, p) {
			out = append(out, rollout.Change{Part: name, Digest: digest(p)})
		}
	}
	if was != nil && was.Withdrawn == "" {
		for _, m := range was.Modules {
			if !wanted[m.Module] {
				out = append(out, rollout.Change{Part: m.Module})
			}
		}
	}
	return out
}

// sameContent reports whether two parts have the same digest.
func sameContent(a, b fleet.Assigned) bool {
	return a.Bundle.Digest == b.Bundle.Digest && a.Revision.Repository == b.Revision.Repository &&
		a.Revision.Branch == b.Revision.Branch && a.Revision.Signer == b.Revision.Signer && sameNeeds(a.Needs, b.Needs)
}

func sameNeeds(a, b []fleet.Need) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func parts(a fleet.Assignment) []fleet.Assigned {
	return append([]fleet.Assigned{a.Root}, a.Modules...)
}
