// Package repository follows the git repository of a fleet: its branch, and the refs to which targets
// are pinned.
//
//	f := repository.New(repository.Config{Dir: "/var/lib/fettle-hub/mirror", Records: table, …})
//	go f.Follow(ctx, answered) // only the leader
//	parts, err := f.Pack(ctx, revision, store)
//
// Without a repository, nothing is followed. If the repository or a ref cannot be read, its last
// commit stays and the error is stored with it. The same commit is stored and reported once. After
// an interruption, the next poll finds the present commits.
package repository

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/host"
)

// Poller polls repositories.
type Poller interface {
	Run(ctx context.Context)
	Set(list []content.Source) error
	Poke(name string)
}

// Sources polls repositories and packs their commits into bundles. *content.Sources implements it.
type Sources interface {
	Poller
	Pack(ctx context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error)
}

// Config contains what a Follower needs of its hub.
type Config struct {
	// Dir is the directory of the bare clone. HookFile is the file with the secret of webhooks.
	Dir      string
	Files    host.FS
	HookFile string
	// Own is the repository in the settings of this hub.
	Own records.Repository
	// Sources returns a poller with a configuration.
	Sources func(*content.Sources) Sources

	Now     func() time.Time
	Warn    func(text string)
	Records *records.Table
	Events  events.Recorder
}

// Follower follows the repository while its hub leads. It is safe for concurrent use. mu protects
// sources, and pins has its own lock; neither is taken under the other.
type Follower struct {
	Config
	pins pinned

	mu      sync.Mutex
	sources Sources // nil before the hub first leads
}

// New returns a follower.
func New(c Config) *Follower { return &Follower{Config: c} }

func (f *Follower) current() Sources {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sources
}
