package agent

import (
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// ownerOf is the repository of an assignment. A hub has no history, so that it is known by
// the fleet and by its name there.
func ownerOf(a fleet.Assignment) repo.Identity {
	return repo.Identity{Fleet: strings.Trim(a.Fleet+"/"+a.Top.Revision.Repository, "/")}
}
