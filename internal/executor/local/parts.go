package local

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host/sealed"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lookcache"
	"fettle.dev/fettle/internal/names"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/statcache"
	"fettle.dev/fettle/internal/verb/check"
)

// shared has the fields that all parts of an executor use: the host, the state directory, and caches.
type shared struct {
	host    *sealed.Host
	keys    *keyring
	store   *journal.Store
	names   *names.Names
	net     check.Prober
	now     func() time.Time
	cache   *statcache.Cache // nil until its first use
	loading sync.Once
}

// planner compares a list with the applied state and the host. It changes nothing.
type planner struct{ *shared }

// source plans a request and tells whether there is anything to do or to record.
type source interface {
	look(ctx context.Context, r *executor.Request) (looked, error)
}

// fresh plans a request after it has loaded the list and observed the host.
type fresh struct {
	*shared
	planner *planner
}

// remembered is a source that stores observations without a difference, and returns their plans while
// the host stays the same.
type remembered struct {
	*shared
	source  source
	planner *planner
	program string // Options.Program
}

// looks plans requests, and reuses the last plan of this process.
type looks struct {
	*shared
	source     source
	remembered *remembered
	last       looked
}

// runs changes the host: runs, their recovery, and their confirmation.
type runs struct {
	*shared
	planner *planner
	looks   *looks
	watch   func(ctx context.Context, deadline time.Time) error // Options.Guard
	locks   executor.Locks                                      // Options.Locks
}

// files runs commands and copies files outside of runs.
type files struct {
	*shared
	runs *runs
}

// newExecutor connects the parts of an executor.
func newExecutor(s *shared, o Options) *Executor {
	x := &Executor{shared: s, planner: &planner{s}}
	r := &remembered{shared: s, source: &fresh{s, x.planner}, planner: x.planner, program: o.Program}
	x.looks = &looks{shared: s, source: r, remembered: r}
	x.runs = &runs{shared: s, planner: x.planner, looks: x.looks, watch: o.Guard, locks: o.Locks}
	x.files = &files{shared: s, runs: x.runs}
	return x
}

// Executor implements executor.Executor. It is used by one goroutine at a time.
type Executor struct {
	*shared
	planner *planner
	looks   *looks
	runs    *runs
	files   *files
}

// Options has what tests exchange; the zero value is right for real use.
type Options struct {
	Now func() time.Time
	Net check.Prober
	// Guard starts a process that calls Recover at or after the deadline, even if this
	// process dies. It runs before anything changes. If Guard is nil, no run can be
	// armed.
	Guard func(ctx context.Context, deadline time.Time) error
	// Locks acquires slots of locks. If it is nil, runs that need a slot are refused.
	Locks executor.Locks
	// Ballast is the room kept for taking a run back, in bytes; 0 is
	// journal.DefaultBallast, negative is none.
	Ballast int64
	// Program identifies this build of the binary. Cached observations are valid for the
	// same build only. "" disables the cache.
	Program string
	// Identities returns the private keys that decrypt sealed content. It is called on
	// first use; nil decrypts nothing.
	Identities func() (vault.Identities, error)
}

// looked is the last observation of this process, with its inputs.
type looked struct {
	request executor.Request // filled, where there is something to do
	plan    *plan.Plan
	state   journal.State
	seen    *observed // nil in looks.last
	key     lookcache.Key
	keyed   bool // key has all inputs, so the observation can be reused
	todo    bool // there is something to do or to record
}

// observed is the result of an observation of many addresses.
type observed struct {
	mu     sync.Mutex
	images map[addr.Addr]image.Image
	failed map[addr.Addr]error
	moved  bool // applied addresses have moved to different paths, which a run records
}

// keyring implements sealed.Keys. It has the keys of the current request, and the keys
// that runs stored in the state directory. Stored keys are encrypted to the recipients of
// the repository, and stored values to be masked are sealed. So the state directory
// reveals nothing without an identity.
type keyring struct {
	store *journal.Store
	ids   func() (vault.Identities, error)

	mu     sync.Mutex
	keys   map[string]secret.Key
	files  map[string][]byte // of keys at hand, by ID
	values map[string]bool
	hidden []string // that commands brought; kept nowhere
	loaded bool     // values of earlier runs are among them
	masker *secret.Masker
	blobs  map[string]kind.Blob
}
