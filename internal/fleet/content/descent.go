package content

import (
	"errors"
	"fmt"
	"time"
)

// ReturnTime is the default of Descent.Return: a change of Friday can be undone on Monday.
const ReturnTime = 72 * time.Hour

// Descent has the settings of a host about the order of commits. The zero value has no requirements, and
// permits no return to an older commit.
type Descent struct {
	// Signed requires a valid signature of each commit that is reachable from the new commit, and
	// not from an accepted commit.
	Signed bool
	// Descends requires that the accepted commit is an ancestor of the new commit.
	Descends bool
	// Return is the time after a change for which the host accepts its previous content again, see Returns.
	Return time.Duration
}

// Required returns true if there is a requirement.
func (d Descent) Required() bool { return d.Signed || d.Descends }

// Lineage names the commits that a history must connect.
type Lineage struct {
	Commit string // the new commit
	Part   string // the accepted commit of the part; "" if none
	Root   string // the accepted commit of the root bundle; "" if none
}

// Accepted returns the accepted commits, the commit of the part first. It is empty at the first
// acceptance: then the new commit alone counts.
func (l Lineage) Accepted() (out []string) {
	for _, id := range []string{l.Part, l.Root} {
		if id != "" && (len(out) == 0 || out[0] != id) {
			out = append(out, id)
		}
	}
	return out
}

// NeedsHistory returns true if verifying the lineage needs a history.
func (l Lineage) NeedsHistory(d Descent) bool {
	return d.Required() && len(l.Accepted()) > 0 && l.Commit != l.Part
}

// ErrIncomplete means that a history lacks a required commit. The history of another hub may be
// complete.
var ErrIncomplete = errors.New("the hub did not deliver a commit")

// VerifyHistory verifies the requirements of a host for a new commit. Ancestors of an accepted
// commit need no signature. A part without an accepted commit must descend from the accepted commit
// of the root bundle, or be an ancestor of it. The hashes of the new commit and of the accepted
// commits prove all data of the history that is used.
func VerifyHistory(h History, l Lineage, d Descent, t Trust) error {
	if !l.NeedsHistory(d) {
		return nil
	}
	known := h.reachable(l.Accepted()...)
	fresh, err := h.fresh(l.Commit, known)
	if err == nil && d.Descends {
		err = h.descends(l, known)
	}
	for _, id := range fresh {
		if err != nil || !d.Signed {
			break
		}
		c := h.commits[id]
		if _, err = c.signedBy(t); err != nil {
			err = fmt.Errorf("the commit %.12s %q by %s, which is new in its history since the accepted commit %.12s: %w",
				id, c.subject, c.author, l.Accepted()[0], err)
		}
	}
	return err
}

// reachable returns all commits that are reachable from the given commits, including these. The
// last commit of a path can be missing in the history.
func (h History) reachable(from ...string) map[string]bool {
	out := map[string]bool{}
	for len(from) > 0 {
		id := from[len(from)-1]
		from = from[:len(from)-1]
		if !out[id] {
			out[id] = true
			from = append(from, h.commits[id].parents...)
		}
	}
	return out
}

// fresh returns the commits that are reachable from a commit and not in known. The history must
// contain all of them.
func (h History) fresh(commit string, known map[string]bool) (out []string, err error) {
	seen, next := map[string]bool{}, []string{commit}
	for len(next) > 0 {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[id] || known[id] {
			continue
		}
		seen[id] = true
		c, there := h.commits[id]
		if !there {
			return nil, fmt.Errorf("%w: %.12s, which is in its history", ErrIncomplete, id)
		}
		out, next = append(out, id), append(next, c.parents...)
	}
	return out, nil
}

func (h History) descends(l Lineage, known map[string]bool) error {
	base := l.Part
	if base == "" {
		base = l.Root
	}
	if l.Part == "" && known[l.Commit] || h.reachable(l.Commit)[base] {
		return nil
	}
	return fmt.Errorf("its history does not show that it descends from %.12s, the last accepted commit", base)
}
