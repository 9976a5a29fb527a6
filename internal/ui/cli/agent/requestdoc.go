package agent

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// AgentRequestDoc is the answer to a request of this machine.
type AgentRequestDoc struct {
	Format string            `json:"format"`
	What   fleet.RequestKind `json:"what"`
	Answer string            `json:"answer"`        // done or pending
	Dir    string            `json:"dir,omitempty"` // the directory of the certificate, now or after the approval
}

const agentRequestFormat = "fettle.agent.requested/1"

// requestTimeout limits the search for a hub.
const requestTimeout = 30 * time.Second

type agentRequestFlags struct {
	reason, reload string
	names          []string
}
