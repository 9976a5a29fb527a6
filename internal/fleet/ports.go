package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/exported"
)

// Errors of stores and links. Hubs send them to agents, where errors.Is recognises them.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("another change was faster")
	ErrOffline  = errors.New("the target is not connected")
	ErrNoHub    = errors.New("no hub answers")
	ErrDenied   = errors.New("not allowed")
)

// ErrNoAnswer means that a store or a log did not answer: it is unknown whether the operation
// happened.
var ErrNoAnswer = errors.New("the store did not answer")

// Entry is a value of a Store. Rev increases with each change of its key; 0 means no revision.
type Entry struct {
	Key   string
	Value []byte
	Rev   uint64
	// Gone means that the key was deleted; Value is then nil.
	Gone bool
}

// Store is a bucket of small values that all hubs share. Acknowledged writes are durable. Keys
// consist of letters, digits and - _ . / =; values have up to 1 MiB. Its methods may be called from
// any goroutine; the caller owns the values.
type Store interface {
	// Get returns ErrNotFound for a missing key. For several seconds after another server became
	// the leader, Get may return an older value, or ErrNotFound for a new key: a read does not need
	// a majority. A write does; see also Prover.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes the value unconditionally.
	Put(ctx context.Context, key string, value []byte) (rev uint64, err error)
	// Update writes only if the key is at the revision; 0 means that it must not exist. Otherwise
	// the error is ErrConflict.
	Update(ctx context.Context, key string, value []byte, rev uint64) (newer uint64, err error)
	// Delete removes a key if it is at the revision; 0 means at any revision.
	Delete(ctx context.Context, key string, rev uint64) error
	// All returns all keys with their values, in any order.
	All(ctx context.Context) ([]Entry, error)
	// Watch calls each for all existing keys, then ready once, then each for all changes, in order
	// and from one goroutine, until ctx ends. After a lost connection it may repeat a value.
	Watch(ctx context.Context, each func(Entry), ready func()) error
}

// Batcher is a Store that can write many keys at about the cost of one.
type Batcher interface {
	// UpdateAll is Update of all entries at their revisions, or of none. It accepts up to
	// MaxUpdateAll entries with different keys. After an error, for example because of a revision,
	// or because the bucket does not support batches, the caller can use Update for each entry.
	UpdateAll(ctx context.Context, all []Entry) (newer []uint64, err error)
}

// Prover is a Store that can prove that a key does not exist.
type Prover interface {
	// Absent records that the key is deleted, if it does not exist. ErrConflict means that it
	// exists, or that another write was faster.
	Absent(ctx context.Context, key string) error
}

// MaxUpdateAll is the maximum number of entries of UpdateAll.
const MaxUpdateAll = 500

// Log has the events of a fleet, in one order for all hubs. Acknowledged records are durable.
type Log interface {
	// Append writes all records or none. seq is the number of the whole.
	Append(ctx context.Context, records [][]byte) (seq uint64, err error)
	// Follow calls each for the records of every seq above from, in order and from one goroutine,
	// until ctx ends or each fails.
	Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error
}

// Exchange is the hub's end of the links to all agents. A message type names a kind of requests, such as
// MessageReport.
type Exchange interface {
	// Serve handles requests of agents of one message type. Of all hubs that serve the type, one receives
	// each request. The handler runs in its own goroutine. The certificate of the sender proves
	// from.
	Serve(messageType string, handle func(ctx context.Context, from TargetID, body []byte) ([]byte, error)) error
	// Ask sends a request to one agent, and returns ErrOffline if the agent is not connected.
	Ask(ctx context.Context, to TargetID, messageType string, body []byte) ([]byte, error)
	// Tell sends a notification. It does not report whether the agent received it.
	Tell(to TargetID, messageType string, body []byte) error
	// Open opens a stream to an agent that serves streams of this type.
	Open(ctx context.Context, to TargetID, messageType string, header []byte) (io.ReadWriteCloser, error)
	// Connected returns the agents that are connected to this hub. Presence calls each for every
	// agent that connects or disconnects from now on.
	Connected() []TargetID
	// IsConnected returns true if an agent is connected to this hub.
	IsConnected(id TargetID) bool
	Presence(each func(id TargetID, here bool))
	// Kick ends the connections of a target.
	Kick(id TargetID)
}

// Link is the agent's end.
type Link interface {
	// Ask sends a request to the hubs, and returns ErrNoHub if none answers.
	Ask(ctx context.Context, messageType string, body []byte) ([]byte, error)
	// Tell sends a notification without an answer.
	Tell(messageType string, body []byte) error
	// Serve handles requests of hubs of one message type.
	Serve(messageType string, handle func(ctx context.Context, body []byte) ([]byte, error)) error
	// ServeStreams accepts streams of one type that hubs open. The handler must close its stream.
	ServeStreams(messageType string, handle func(ctx context.Context, header []byte, stream io.ReadWriteCloser)) error
	// Changes calls each with true when the connection begins, and with false when it ends.
	Changes(each func(up bool))
	Close() error
}

// The message types of requests of agents.
const (
	MessageAssignment = "assignment" // body: Have; the answer is a Signed assignment, empty when there is none newer
	// MessageReport has the body Report, whole or since the report before, compressed or not. The
	// answer is empty, and the report durable.
	MessageReport  = "report"
	MessageBeat    = "beat"    // a notification; body: Beat
	MessageRequest = "ask"     // body: a Request of the agent for itself; the answer is a RequestAnswer
	MessageExports = "exports" // body: Exports, all current exports; the answer is empty, and the values durable
	// MessageJobAnswer has the body JobAnswer, the result of a job that the agent had accepted. The
	// answer is empty, and the result durable.
	MessageJobAnswer = "done"
	// MessageContent has the body digest, of content that is assigned to the target. The answer is
	// small content, compressed, see content.Server.
	MessageContent = "content"
	MessageLists   = "lists" // no body; the answer is Lists
	// MessageReboot has the body RebootRequest. The answer is a RebootSlot, and durable.
	MessageReboot = "reboot"
	// MessageSlot has the body SlotRequest. The answer is a SlotAnswer, and durable.
	MessageSlot = "slot"
	// MessageWait has the body WaitRequest. The answer is a WaitAnswer, and durable.
	MessageWait = "wait"
	// MessageClaim has the body Claim. The answer is a Claimed, and durable. Hubs send agents the same
	// message type, without a body, to request a claim.
	MessageClaim = "claim"
)

// The message types of requests of hubs.
const (
	MessageAssigned  = "assigned"  // a notification; body: a Signed assignment
	MessageJob       = "do"        // body: Job; the answer is JobAnswer
	MessageExecutor  = "executor"  // a stream: the target's executor, see executor/wire
	MessageCertified = "certified" // a notification that a pending certificate was decided
	// MessageShow has no body. The answer is the agent's Signed assignment, empty for none: it proves
	// the agent's minimum generation.
	MessageShow = "show"
	// MessageMove has the body MoveRequest. The answer is a MoveAnswer.
	MessageMove = "move"
)

// MoveRequest asks an agent to connect to another hub, so that all hubs have similar numbers of agents. An agent
// accepts only addresses that it already knows.
type MoveRequest struct {
	BusURLs []string `json:"buses"` // in the order of preference
	// Leaves means that the hub is retired and soon ends the connection: the agent must also accept a far hub.
	Leaves bool `json:"leaves"`
}

// MoveAnswer is the answer to a MoveRequest. An agent that does not move stays connected.
type MoveAnswer struct {
	Moves bool   `json:"moves"`
	Why   string `json:"why"` // the reason if it does not move
}

// Have is the accepted assignment and the newest report of an agent.
type Have struct {
	Epoch      uint64 `json:"epoch"`
	Generation uint64 `json:"generation"`
	Seq        uint64 `json:"seq"` // of its newest report
}

// Exports are all values that a target exports. Only the certificate of the sender proves the
// target.
type Exports struct {
	Values []exported.Own `json:"values"`
}

// ParseExports parses exports, within the limits of package exported. Unknown fields are errors.
func ParseExports(b []byte) (Exports, error) {
	var e Exports
	if len(b) > 4*exported.MaxOwnBytes {
		return e, fmt.Errorf("cannot read exported values of %d bytes", len(b))
	}
	if err := decode(b, &e); err != nil {
		return e, fmt.Errorf("cannot read exported values: %w", err)
	}
	return e, exported.CheckOwn(e.Values)
}

// Beat is the periodic sign of life of an agent. It is never stored.
type Beat struct {
	Have
	Ready bool  `json:"ready"`
	Clock int64 `json:"clock"` // ns since 1970, the agent's clock
}

// ExecutorHeader is the header of a stream of MessageExecutor: the user, and whether the user may
// change the target. The hub has verified both.
type ExecutorHeader struct {
	By      string `json:"by"`
	Changes bool   `json:"changes"`
}

// MessageHubs is a notification of a hub, and a request of an agent without a body; its content is
// Hubs.
const MessageHubs = "hubs"

// Hubs has the addresses and signers of the hubs. A signer counts only if the fleet CA has
// certified it.
type Hubs struct {
	HubURLs []string `json:"hubs"`    // URLs, HTTPS
	BusURLs []string `json:"buses"`   // URLs of the bus
	Signers string   `json:"signers"` // PEM
	// Revocations are the signed revocations of hubs.
	Revocations [][]byte `json:"revocations,omitempty"`
}

// Lists are the revocation lists of service certificates (X.509 CRLs), and the certificates of the
// hubs that signed them. All are PEM.
type Lists struct {
	Lists   string `json:"lists"`
	Issuers string `json:"issuers"`
}
