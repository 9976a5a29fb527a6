package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/exported"
)

// Errors of stores and links. They survive the way from a hub to an agent.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("somebody else was faster")
	ErrOffline  = errors.New("the target is not connected")
	ErrNoHub    = errors.New("no hub answers")
	ErrDenied   = errors.New("not allowed")
)

// ErrNoAnswer is about a store or a log that did not answer: nobody knows whether it did what it
// was asked.
var ErrNoAnswer = errors.New("the store did not answer")

// Entry is a value of a Store. Rev rises with each change of its key; 0 is none.
type Entry struct {
	Key   string
	Value []byte
	Rev   uint64
	// Gone says that the key was deleted; Value is nil then.
	Gone bool
}

// Store is a bucket of small values that all hubs share. What it has acknowledged is
// durable. Keys are of letters, digits and - _ . / =; values have up to 1 MiB. Its
// methods may be called from any goroutine; values are the caller's.
type Store interface {
	// Get gives ErrNotFound for what is not there. For some seconds after another server became
	// the leader, Get may return an older value, or ErrNotFound for a new key: a read does not
	// need a majority. A write does; see also Prover.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes whatever was there.
	Put(ctx context.Context, key string, value []byte) (rev uint64, err error)
	// Update writes only if the key is at the revision; 0 means that it must not
	// exist. ErrConflict otherwise.
	Update(ctx context.Context, key string, value []byte, rev uint64) (newer uint64, err error)
	// Delete removes a key at a revision, whatever it is at when that is 0.
	Delete(ctx context.Context, key string, rev uint64) error
	// All gives every key with its value, in no order.
	All(ctx context.Context) ([]Entry, error)
	// Watch calls each for all that is there, then once ready, then each for what
	// changes, in order and from one goroutine, until ctx ends. It may give a value
	// again after the connection was lost.
	Watch(ctx context.Context, each func(Entry), ready func()) error
}

// Batcher is a Store that can write many keys at about the cost of one.
type Batcher interface {
	// UpdateAll is Update of each entry at the revision that it has: of all or of none. It
	// takes up to MaxTogether with different keys. After an error, be it that one is at
	// another revision or that this bucket cannot, Update says of each what is wrong with it.
	UpdateAll(ctx context.Context, all []Entry) (newer []uint64, err error)
}

// Prover is a Store that can prove that a key does not exist.
type Prover interface {
	// Absent writes that the key is deleted, if it does not exist. ErrConflict: it exists, or
	// another write was faster.
	Absent(ctx context.Context, key string) error
}

// MaxTogether is how many entries an UpdateAll takes.
const MaxTogether = 500

// Log is what happened, in one order for all hubs. What it has acknowledged is durable.
type Log interface {
	// Append writes records as one: all of them or none. seq is that of the whole.
	Append(ctx context.Context, records [][]byte) (seq uint64, err error)
	// Follow calls each for the records of every seq above from, in order and from
	// one goroutine, until ctx ends or each fails.
	Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error
}

// Exchange is the hub's end of the links to all agents.
type Exchange interface {
	// Serve answers what agents ask under a word. One hub of all that serve a word
	// gets each question. The handler runs in a goroutine of its own; who asks is
	// proved by its certificate, not by what it says.
	Serve(word string, handle func(ctx context.Context, from TargetID, body []byte) ([]byte, error)) error
	// Ask asks one agent, and gives ErrOffline when none listens.
	Ask(ctx context.Context, to TargetID, word string, body []byte) ([]byte, error)
	// Tell is Ask without an answer: nobody may be listening.
	Tell(to TargetID, word string, body []byte) error
	// Open opens a stream to an agent that takes streams under the word.
	Open(ctx context.Context, to TargetID, word string, header []byte) (io.ReadWriteCloser, error)
	// Connected are the agents that are connected to this hub, and Presence calls
	// each for every one that comes and goes from now on.
	Connected() []TargetID
	// Here tells whether one is.
	Here(id TargetID) bool
	Presence(each func(id TargetID, here bool))
	// Kick ends the connections of a target.
	Kick(id TargetID)
}

// Link is the agent's end.
type Link interface {
	// Ask asks the hubs, and gives ErrNoHub when none answers.
	Ask(ctx context.Context, word string, body []byte) ([]byte, error)
	// Tell is Ask without an answer.
	Tell(word string, body []byte) error
	// Serve answers what hubs ask under a word.
	Serve(word string, handle func(ctx context.Context, body []byte) ([]byte, error)) error
	// ServeStreams takes streams that hubs open under a word. The handler closes its
	// stream.
	ServeStreams(word string, handle func(ctx context.Context, header []byte, stream io.ReadWriteCloser)) error
	// Changes calls each when the connection comes (true) and goes.
	Changes(each func(up bool))
	Close() error
}

// The words that agents ask hubs under.
const (
	WordAssignment = "assignment" // body: Have; the answer is a Signed assignment, empty when there is none newer
	WordReport     = "report"     // body: a Report, whole or since the one before, squeezed or not; the answer is empty, and the report durable
	WordBeat       = "beat"       // told, not asked; body: Beat
	WordRequest    = "ask"        // body: a Request of the agent for itself; the answer is a RequestAnswer
	WordExports    = "exports"    // body: Exports, all that it exports now; the answer is empty, and the values durable
	WordJobAnswer  = "done"       // body: JobAnswer, the result of a job that the agent had accepted; the answer is empty, and it is durable
	WordContent    = "content"    // body: the digest of content that the target is assigned; the answer is small content, compressed, see content.Server
	WordLists      = "lists"      // asked without a body; the answer is Lists
	WordClaim      = "claim"      // body: a Claim; the answer is a Claimed, and durable. Hubs send agents the same word, without a body, to request a claim
)

// The words that hubs ask agents under.
const (
	WordAssigned  = "assigned"  // told; body: a Signed assignment
	WordJob       = "do"        // body: Job; the answer is JobAnswer
	WordExecutor  = "executor"  // a stream: the target's executor, see executor/wire
	WordCertified = "certified" // told; a certificate that was held may be had now
	WordShow      = "show"      // the answer is the Signed assignment that it has, empty for none: proof of its floor
)

// Have is what an agent has.
type Have struct {
	Epoch      uint64 `json:"epoch"`
	Generation uint64 `json:"generation"`
	Seq        uint64 `json:"seq"` // of its newest report
}

// Exports are all values that a target exports. Which target they are of, its certificate
// says and nothing else.
type Exports struct {
	Values []exported.Own `json:"values"`
}

// ParseExports reads them strictly, within the bounds of package exported.
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

// Beat says that an agent lives. It is never stored.
type Beat struct {
	Have
	Ready bool  `json:"ready"`
	Clock int64 `json:"clock"` // ns since 1970, the agent's
}

// ExecutorHeader is the header of a stream under WordExecutor: who asks, and whether they
// may change something. The hub has seen to both.
type ExecutorHeader struct {
	By      string `json:"by"`
	Changes bool   `json:"changes"`
}

// WordHubs is told by a hub, and asked by an agent without a body; it is about a Hubs.
const WordHubs = "hubs"

// Hubs is where hubs are, and whom to believe: a signer counts only if the authority
// vouches for it.
type Hubs struct {
	Hubs    []string `json:"hubs"`    // URLs, HTTPS
	Buses   []string `json:"buses"`   // URLs of the bus
	Signers string   `json:"signers"` // PEM
	// Revocations are those of hubs, as they were signed.
	Revocations [][]byte `json:"revocations,omitempty"`
}

// Lists are which certificates of services are forbidden: X.509 CRLs, and the certificates of
// the hubs that signed them. All PEM.
type Lists struct {
	Lists   string `json:"lists"`
	Issuers string `json:"issuers"`
}
