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
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"fettle.dev/fettle/internal/fleet"
)

// Options bound what is kept. The zero value has the defaults.
type Options struct {
	Events int           // of each target; 0 is 40
	Age    time.Duration // of events; 0 is 90 days
	// Silence is how long an active target may say nothing before it counts as silent;
	// 0 is 5 minutes.
	Silence time.Duration
}

// The defaults of Options.
const (
	DefaultEvents  = 40
	DefaultAge     = 90 * 24 * time.Hour
	DefaultSilence = 5 * time.Minute
)

// View is an open read model. Its methods may be called from any goroutine.
type View struct {
	o        Options
	write    *sql.DB // one connection
	read     *sql.DB
	writing  sync.Mutex
	words    map[string]int64     // what is known of the table; under writing
	parts    map[string]int64     // the same, by doc
	prepared map[string]*sql.Stmt // of write; nil for one that is not yet
	wished   []string
	lists    map[int64][]listing
	rows     map[int64]map[int64]row
	sets     map[string]int64           // of modules, by their numbers
	same     map[*fleet.Assigned]shared // lists by their first place, which keeps them from being made anew

	mu       sync.Mutex
	contacts map[fleet.TargetID]contact
	belongs  map[string]Belongs // by the target's name
	more     chan struct{}      // closed and made anew at each change
	damage   chan error         // the first damage
}

// contact is when an agent was heard of, and whether it is connected.
type contact struct {
	at        int64
	connected bool
	ahead     time.Duration // its clock
}

// silent tells whether an agent that last reported at a time has said nothing for too long.
func (c contact) unresponsive(reported int64, now time.Time, most time.Duration) bool {
	return !c.connected && now.UnixNano()-max(reported, c.at) > int64(most)
}

// Belongs is what a repository says of a target by its name.
type Belongs struct{ Roles, Groups []string }

// Open opens the read model of a file, which is made when it is missing, of another
// version or damaged.
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

// Remove deletes a read model that nobody has open. One that is not there is no error.
func Remove(file string) error {
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the read model: %w", err)
		}
	}
	return nil
}

func open(file string, o Options) (*View, error) {
	v := &View{o: o, words: map[string]int64{}, parts: map[string]int64{}, prepared: map[string]*sql.Stmt{}, lists: map[int64][]listing{}, rows: map[int64]map[int64]row{}, sets: map[string]int64{}, same: map[*fleet.Assigned]shared{}, contacts: map[fleet.TargetID]contact{}, more: make(chan struct{}), damage: make(chan error, 1)}
	var err error
	// What the last transactions wrote may be lost with the power, never half of one: the
	// position goes with them.
	if v.write, err = connect(file, 1, "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"); err != nil {
		return nil, err
	}
	if err := v.prepare(); err != nil {
		return nil, errors.Join(err, v.write.Close())
	}
	if v.read, err = connect(file, 4, "_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, v.write.Close())
	}
	v.read.SetConnMaxIdleTime(restEvery) // each has its own pages in memory
	return v, nil
}

// busyTime is how long anybody waits for somebody else who uses the file.
const busyTime = 10 * time.Second

func connect(file string, most int, pragmas string) (*sql.DB, error) {
	pragmas += fmt.Sprintf("&_pragma=busy_timeout(%d)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-8192)", busyTime.Milliseconds())
	name := (&url.URL{Scheme: "file", Opaque: url.PathEscape(file), RawQuery: pragmas}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the read model: %w", err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// prepare makes the tables of a new file, and refuses one that is not as it should be.
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
		return fmt.Errorf("cannot make the read model: %w", err)
	}
	return nil
}

// Close frees the file. No method may be called afterwards.
func (v *View) Close() error { return errors.Join(v.read.Close(), v.write.Close()) }

// Position is the newest of the log that is in the model; 0 is none.
func (v *View) Position(ctx context.Context) (uint64, error) {
	seq, _, err := v.place(ctx)
	return seq, err
}

// Changed is closed when something has changed since it was called.
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

// Heard says that an agent was heard of, by the hub's clock.
func (v *View) Heard(id fleet.TargetID, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.contacts[id]
	c.at = max(c.at, at.UnixNano())
	v.contacts[id] = c
}

// Clock says how far the clock of an agent is ahead of the hub's. It is shown where it is
// wrong.
func (v *View) Clock(id fleet.TargetID, ahead time.Duration) {
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

// Connected says that an agent is connected, or no more.
func (v *View) Connected(id fleet.TargetID, here bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.contacts[id]
	c.connected = here
	v.contacts[id] = c
}

// Belong replaces what the repository says of targets by their names, which selections
// by role and group look at. The map is the view's from now on.
func (v *View) Belong(all map[string]Belongs) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.belongs = all
}

// update runs one transaction that writes. What it learned of words is forgotten when
// it fails: they may not be there.
func (v *View) update(ctx context.Context, what string, f func(*tx) error) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	defer v.prepareWished(context.WithoutCancel(ctx))
	// It is short, and to be able to break each statement off would cost as much as it.
	ctx = context.WithoutCancel(ctx)
	raw, err := v.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("cannot write %s into the read model: %w", what, v.noted(err))
	}
	t := &tx{Tx: raw, ctx: ctx, v: v}
	if err = f(t); err == nil {
		err = raw.Commit()
	}
	if err != nil {
		_ = raw.Rollback() // the error that led here is the one to tell
		clear(v.rows)
		v.forget()
		return fmt.Errorf("cannot write %s into the read model: %w", what, v.noted(err))
	}
	v.changed()
	return nil
}
