package view

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Options limit the content of the model. The zero value has the defaults.
type Options struct {
	Events int           // of each target; 0 means 40
	Age    time.Duration // of events; 0 means 90 days
	// Silence is the time without contact after which an active target is unresponsive; 0 means 5
	// minutes.
	Silence time.Duration
}

// The defaults of Options.
const (
	DefaultEvents  = 40
	DefaultAge     = 90 * 24 * time.Hour
	DefaultSilence = 5 * time.Minute
)

// View is an open read model. Its methods are safe for concurrent use.
type View struct {
	options  Options
	write    *sql.DB // one connection
	read     *sql.DB
	writing  sync.Mutex
	words    map[string]int64     // cache of the table; needs the lock writing
	parts    map[string]int64     // cache of the table, by doc; needs the lock writing
	prepared map[string]*sql.Stmt // on write; nil for a statement that is not prepared yet
	wished   []string
	lists    map[int64][]listing
	rows     map[int64]map[int64]row
	sets     map[string]int64 // of modules, by their numbers
	stored   targetRows
	same     map[*fleet.Assigned]shared // lists by the address of their first element, which this map keeps alive

	mu          sync.Mutex
	contacts    map[fleet.TargetID]contact
	memberships map[string]Memberships // by the target's name
	scopes      func() map[string][]string
	more        chan struct{} // closed and replaced at each change
	damage      chan error    // the first damage
}

// contact is the last contact with an agent.
type contact struct {
	at        int64
	connected bool
	ahead     time.Duration // of its clock
}

// unresponsive reports whether the last contact with an agent is too long ago.
func (c contact) unresponsive(reported int64, now time.Time, most time.Duration) bool {
	return !c.connected && now.UnixNano()-max(reported, c.at) > int64(most)
}

// Memberships contains the roles and target groups of a target, its environment, and the element of for_each that made
// it.
type Memberships struct {
	Roles, Groups []string
	Environment   string
	Element       *document.TargetElement // nil: none
}

// Open opens the read model in a file. It creates a new one if the file is missing, has another
// version or is damaged.
func Open(file string, o Options) (*View, error) {
	o.Events = cmp.Or(o.Events, DefaultEvents)
	o.Age = cmp.Or(o.Age, DefaultAge)
	o.Silence = cmp.Or(o.Silence, DefaultSilence)
	v, err := open(file, o)
	if err == nil {
		return v, nil
	}
	if rerr := Remove(file); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	return open(file, o)
}

// Remove deletes a read model that is not open. A missing file is not an error.
func Remove(file string) error {
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the read model: %w", err)
		}
	}
	return nil
}

func open(file string, o Options) (*View, error) {
	v := &View{options: o, words: map[string]int64{}, parts: map[string]int64{}, prepared: map[string]*sql.Stmt{},
		lists: map[int64][]listing{}, rows: map[int64]map[int64]row{}, sets: map[string]int64{},
		same: map[*fleet.Assigned]shared{}, contacts: map[fleet.TargetID]contact{}, more: make(chan struct{}),
		damage: make(chan error, 1)}
	var err error
	// The last transactions may be lost with a power failure, but never a part of one. The position
	// in the log is lost with them.
	if v.write, err = connect(file, 1,
		"_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"); err != nil {
		return nil, err
	}
	if err := v.prepare(); err != nil {
		return nil, errors.Join(err, v.write.Close())
	}
	if v.read, err = connect(file, 4, "_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, v.write.Close())
	}
	v.read.SetConnMaxIdleTime(restEvery) // each connection has its own page cache
	return v, nil
}

// busyTime limits the time to wait for other users of the file.
const busyTime = 10 * time.Second

func connect(file string, most int, pragmas string) (*sql.DB, error) {
	pragmas += fmt.Sprintf("&_pragma=busy_timeout(%d)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-8192)",
		busyTime.Milliseconds())
	name := (&url.URL{Scheme: "file", Opaque: url.PathEscape(file), RawQuery: pragmas}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the read model: %w", err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// prepare creates the tables of a new file, and checks an existing file.
func (v *View) prepare() error {
	var has int
	var health string
	err := v.write.QueryRow("PRAGMA user_version").Scan(&has)
	if err == nil {
		err = v.write.QueryRow("PRAGMA quick_check(1)").Scan(&health)
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the read model: %w", err)
	case health != "ok":
		return fmt.Errorf("cannot use the read model: %s", health)
	case has == version:
		return nil
	case has != 0:
		return fmt.Errorf("cannot use a read model of version %d", has)
	}
	if _, err := v.write.Exec(fmt.Sprintf("BEGIN; %s PRAGMA user_version = %d; COMMIT", schema, version)); err != nil {
		return fmt.Errorf("cannot create the read model: %w", err)
	}
	return nil
}

// Close closes the file. No method may be called afterwards.
func (v *View) Close() error { return errors.Join(v.read.Close(), v.write.Close()) }

// LogPosition returns the newest position of the log in the model, or 0.
func (v *View) LogPosition(ctx context.Context) (uint64, error) {
	seq, _, err := v.place(ctx)
	return seq, err
}

// Changed returns a channel that is closed at the next change.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.more
}

func (v *View) changed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.more)
	v.more = make(chan struct{})
}

// RecordContact records a contact with an agent, by the clock of the hub.
func (v *View) RecordContact(id fleet.TargetID, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.contacts[id]
	c.at = max(c.at, at.UnixNano())
	v.contacts[id] = c
}

// RecordClock records how far the clock of an agent is ahead of the hub's; 0 if it is right.
func (v *View) RecordClock(id fleet.TargetID, ahead time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.contacts[id]
	c.ahead = ahead
	v.contacts[id] = c
}

func (v *View) ahead(id fleet.TargetID) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.contacts[id].ahead
}

// RecordConnection records whether an agent is connected.
func (v *View) RecordConnection(id fleet.TargetID, here bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.contacts[id]
	c.connected = here
	v.contacts[id] = c
}

// IsAnyConnected reports whether any of the agents is connected.
func (v *View) IsAnyConnected(ids []fleet.TargetID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(ids, func(id fleet.TargetID) bool { return v.contacts[id].connected })
}

// SetMemberships replaces the roles and groups of targets, by name, for selections. The caller must no
// longer modify the map.
func (v *View) SetMemberships(all map[string]Memberships) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.memberships = all
}

// update runs one transaction for writing. After a failure it clears the caches, because their rows
// may not exist.
func (v *View) update(ctx context.Context, what string, f func(*tx) error) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	defer v.prepareWished(context.WithoutCancel(ctx))
	// The transaction is short, and a context that can be cancelled would double its cost.
	ctx = context.WithoutCancel(ctx)
	raw, err := v.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("cannot write %s to the read model: %w", what, v.noted(err))
	}
	t := &tx{Tx: raw, ctx: ctx, v: v}
	if err = f(t); err == nil {
		err = raw.Commit()
	}
	if err != nil {
		_ = raw.Rollback() // the first error is more useful
		clear(v.rows)
		v.forget()
		v.stored.changes.add(nil, true)
		return fmt.Errorf("cannot write %s to the read model: %w", what, v.noted(err))
	}
	v.stored.changes.add(t.changed, t.changedAll)
	v.changed()
	return nil
}

// SetScopes sets a function of a view that returns the scopes of each target, by its name, for groups of targets.
func SetScopes(v *View, f func() map[string][]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.scopes = f
}

// scopesByTarget returns the scopes of each target, by its name.
func scopesByTarget(v *View) map[string][]string {
	v.mu.Lock()
	f := v.scopes
	v.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}
