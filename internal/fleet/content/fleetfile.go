package content

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// fleetPrefix begins the name of the file that binds a repository to a fleet.
const fleetPrefix = "fleet-sha256-"

// FleetFile returns the name of a file in the root directory of a repository whose commits are for
// a fleet. The name contains the SHA-256 of the certificate of the fleet CA. It is a name and not
// content, since the root tree is in the proof of each part. The content of the file has no
// meaning. A repository for several fleets has a file for each.
func FleetFile(authority [32]byte) string { return fmt.Sprintf("%s%x", fleetPrefix, authority) }

// boundTo returns a short text that identifies the fleets of a commit, from the trees of a proof;
// "" for none.
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

// forFleet returns an error if a commit, by the entries of its root tree, is not for the target's
// fleet. Without this check, a hub could give the target any commit that a trusted key signed for
// another purpose.
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
		return fmt.Errorf("its commit is for another fleet: the repository has no file %s in its root directory. Commit this file, empty, if the repository is for this fleet too",
			want)
	}
	return fmt.Errorf(
		"its commit does not name its fleet: the repository has no file %s in its root directory. Commit this file, empty",
		want)
}
