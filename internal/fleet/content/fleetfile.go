package content

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// fleetPrefix begins the name of the file that binds a repository to a fleet.
const fleetPrefix = "fleet-sha256-"

// FleetFile is the name of the file at the top of a repository whose commits are for a
// fleet, by the SHA-256 of its fleet CA's certificate. A name, and not content, since the
// tree object of each proof contains it, whichever part the proof is of. The content of
// the file has no meaning. A repository for several fleets has a file for each.
func FleetFile(authority [32]byte) string { return fmt.Sprintf("%s%x", fleetPrefix, authority) }

// boundTo is a short mark of the fleets that a commit is for, by the trees of a proof; ""
// for none.
func (n naming) boundTo(trees [][]byte) string {
	if len(trees) == 0 {
		return ""
	}
	entries, err := n.parseTree(trees[0])
	if err != nil {
		return ""
	}
	names := sha256.New()
	bound := false
	for _, e := range entries { // in git's order
		if isFleetFile(e) {
			bound = true
			fmt.Fprintln(names, e.name)
		}
	}
	if !bound {
		return ""
	}
	return fmt.Sprintf(" fleet %x", names.Sum(nil)[:6])
}

func isFleetFile(e gitEntry) bool {
	return strings.HasPrefix(e.name, fleetPrefix) && (e.mode == "100644" || e.mode == "100755")
}

// forFleet checks that a commit, by the entries of its tree, is for a fleet that the
// target is in. Without it every commit that a believed key signed for anything else
// could be given to the target.
func forFleet(entries []gitEntry, t Trust) error {
	others := 0
	for _, e := range entries {
		switch {
		case !isFleetFile(e):
		case slices.Contains(t.Fleets, e.name):
			return nil
		default:
			others++
		}
	}
	want := fleetPrefix + "…"
	if len(t.Fleets) > 0 {
		want = t.Fleets[0]
	}
	if others > 0 {
		return fmt.Errorf("its commit is for another fleet: the repository has no file %s at its top. Commit that file, empty, if it is for this fleet too", want)
	}
	return fmt.Errorf("its commit does not say for which fleet it is: the repository has no file %s at its top. Commit that file, empty", want)
}
