package agent

import (
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// ownerOf returns the identity of the repository of an assignment. A hub does not send the history
// of the repository, so the identity consists of the fleet and the name of the repository there.
func ownerOf(a fleet.Assignment) repo.Identity {
	return repo.Identity{Fleet: strings.Trim(a.Fleet+"/"+a.Root.Revision.Repository, "/")}
}
