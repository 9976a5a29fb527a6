package rollouts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// rootPart is the name of the root bundle in changes. Modules have the names of their directories.
const rootPart = rollout.RootPart

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
	for i := range a.Modules { // without copies, for very many targets
		if a.Modules[i].Module == part {
			return a.Modules[i], true
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

// moduleChanges returns the changes from one list of modules to another: new and changed modules as in want, followed
// by removed ones. digest is the function digest.
func moduleChanges(was, want []fleet.Assigned, digest func(fleet.Assigned) string) (out []rollout.Change) {
	if fleet.SameModules(was, want) {
		return nil // the usual case
	}
	had := map[string]int{}
	for i, m := range was {
		had[m.Module] = i
	}
	wanted := map[string]bool{}
	for _, m := range want {
		wanted[m.Module] = true
		if i, ok := had[m.Module]; !ok || !sameContent(was[i], m) {
			out = append(out, rollout.Change{Part: m.Module, Digest: digest(m)})
		}
	}
	for _, m := range was {
		if !wanted[m.Module] {
			out = append(out, rollout.Change{Part: m.Module})
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
