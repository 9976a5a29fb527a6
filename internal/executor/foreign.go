package executor

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

// MayReplace refuses a list if the applied list is from a different repository or target.
// Any list can replace a state without entries, or a state of an earlier version that
// recorded no repository.
func MayReplace(r *Request, st journal.State) error {
	if r.Adopt || st.Repository == nil || len(st.Entries) == 0 || ours(r, st) {
		return nil
	}
	return fmt.Errorf("cannot apply %s: on this host %s is applied, and this would remove %s; nothing was changed (%w)",
		ofTarget(r.Target, r.Identity()), ofTarget(st.Target, st.Identity()), removedBy(r, st), ErrForeign)
}

func ofTarget(target string, id repo.Identity) string {
	if target == "" {
		return id.String()
	}
	return fmt.Sprintf("the target %q of %s", target, id)
}

// ours reports whether a list is from the repository and the target of a state. If this is not
// recorded, it reports whether the list keeps all addresses.
func ours(r *Request, st journal.State) bool {
	if r.Target != "" && st.Target != "" && r.Target != st.Target {
		return false
	}
	switch r.Identity().Compare(st.Identity()) {
	case repo.Same:
		return true
	case repo.Other:
		return false
	}
	sameCommit := r.Revision.Commit != "" && r.Revision.Commit == st.Revision.Commit
	return sameCommit || len(leaving(r, st)) == 0
}

// leaving are the addresses of a state that a list does not have.
func leaving(r *Request, st journal.State) []addr.Addr {
	wanted := make(map[addr.Addr]bool, len(r.List))
	for _, s := range r.List {
		wanted[s.Addr()] = true
	}
	for _, h := range r.Deferred {
		wanted[h.Addr] = true
	}
	var out []addr.Addr
	for _, e := range st.Entries {
		if !wanted[e.Addr] {
			out = append(out, e.Addr)
		}
	}
	return out
}

// mostNamed is how many addresses an error names.
const mostNamed = 20

func removedBy(r *Request, st journal.State) string {
	all := leaving(r, st)
	if len(all) == 0 {
		return "nothing"
	}
	names := make([]string, 0, mostNamed+1)
	for _, a := range all[:min(mostNamed, len(all))] {
		names = append(names, string(a))
	}
	if more := len(all) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Recording is the identity that a run of r records. Of the repository that is applied,
// it keeps what r does not know. An operator who adopts a host that an agent keeps does not
// take it from the agent's fleet, which applies its list again.
func Recording(r *Request, st journal.State) repo.Identity {
	id, was := r.Identity(), st.Identity()
	switch like := id.Compare(was); {
	case id == (repo.Identity{}) || like == repo.Same || like == repo.Unknown && !r.Adopt:
		return id.Over(was)
	case like == repo.Unknown && id.Fleet == "":
		id.Fleet = was.Fleet
	}
	return id
}

// NewOwner reports whether the next run must record a new repository or target as the owner of the
// applied state.
func NewOwner(r *Request, st journal.State) bool {
	id := r.Identity()
	if id == (repo.Identity{}) || st.Run == 0 {
		return false
	}
	was := st.Identity()
	return st.Repository == nil || id.Compare(was) != repo.Same || id.Name != was.Name || r.Target != "" &&
		r.Target != st.Target
}
