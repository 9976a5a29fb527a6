package document

// ExecutorProtocol is what a connection to a hub is upgraded to, to be the stream of a
// target's executor: see executor/wire.
const ExecutorProtocol = "fettle-executor"

// ExecutorRequest asks for the executor of a target.
type ExecutorRequest struct {
	// Command is what was typed, for the audit log. It holds no secret.
	Command string `json:"command,omitempty"`
}
