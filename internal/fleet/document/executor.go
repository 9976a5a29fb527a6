package document

// ExecutorProtocol is the protocol to which a connection to a hub is upgraded for the stream of a
// target's executor: see executor/wire.
const ExecutorProtocol = "fettle-executor"

// ExecutorRequest requests the executor of a target.
type ExecutorRequest struct {
	// Command is the command line of the user, for the audit log. It contains no secret.
	Command string `json:"command,omitempty"`
}
