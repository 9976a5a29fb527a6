package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofBinaries() []Row { return []Row{Binaries().Row, SetBinary().Row} }

// Binaries returns the settings for the binaries of agents.
func Binaries() (r Route[None, None, document.BinaryPage]) {
	return r.get(access.Read, "/v1/binaries", "List the binaries that are set for agents")
}

// SetBinary sets the version that agents must run.
func SetBinary() (r Route[None, document.BinaryRequest, document.Done]) {
	return r.post(access.Admin, "/v1/binaries",
		"Set the binary of agents, after its files were uploaded to /v1/binaries/file")
}
