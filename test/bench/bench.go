package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// work is what a tool is asked to do.
type work string

// The works on files, in the order in which they are done, on a host, and on
// nothing.
const (
	firstApply work = "first apply"
	coldList   work = "no change, list compiled again"
	noChange   work = "no change"
	verifyAll  work = "no change, every byte verified"
	repair     work = "repair of 1 %"
	mixedHost  work = "mixed host, no change"
	startEnd   work = "start and end"

	oneCatalog  work = "one catalog"
	validateAll work = "validate a fleet"
	fleetDiff   work = "difference of a fleet"
)

// works are all works in the order of the report.
func works() []work {
	return []work{firstApply, noChange, verifyAll, repair, coldList, mixedHost, oneCatalog, validateAll, fleetDiff,
		startEnd}
}

// place is where one tool works with one number of things.
type place struct {
	n      int
	dir    string // the tool's own
	source string // of the files; all tools read it
	live   string // what is new for each first apply: root and state
	dest   string // of the files on this machine
	root   string // the / of a host; "" is this machine
}

// tool is one way to do works.
type tool struct {
	name  string
	about string
	// prepare writes what the tool reads: once for each number of things.
	prepare func(p place) error
	// command is what is run, nil when the tool has nothing for this work.
	command func(p place, w work) []string
	env     func(p place) []string
	largest int // number of things that the tool is measured with; 0 is any
	// onceIfSlow lets rounds be left out when a run takes too long. What others
	// are compared with never is: one run says little on a busy machine.
	onceIfSlow bool
	settles    bool // a second run may be cheaper than the one after a change
	readsAll   bool // no run trusts times: a run without changes verifies every byte
}

// leavesOut tells whether n things are too many for the tool.
func (t tool) leavesOut(n int) bool { return t.largest != 0 && n > t.largest }

// field is a set of tools that do the same works.
type field struct {
	name   string // of the things
	title  string
	works  []work // in the order in which they are done
	sizes  []int  // numbers of things
	rounds int
	tools  []tool
	warmed bool // one round is run and forgotten before the first
	// place says where tool i works with n things, below a directory.
	place func(base string, n, i int) place
	// source makes what all tools of a place read.
	source func(p place) error
	// check compares what a tool left with what it should have; heal puts it right.
	check, heal func(p place) error
}

// cell is one place of the tables.
type cell struct {
	work work
	tool string
	n    int
}

// sample is one run.
type sample struct {
	round     int
	wall, cpu time.Duration
	rss       int64 // bytes
}

// bench is everything measured so far.
type bench struct {
	settings
	base    string
	began   time.Time
	fields  []field
	notes   []string
	results map[cell][]sample
	broken  map[cell]string // why there is no figure
	last    map[string]work // by the tool's directory: the last work done there
	failed  map[string]bool // by the tool's directory: a run ended with an error
	moved   int             // directories moved aside
	run     func(t tool, p place, argv []string) (sample, error)
}

// newBench has measured nothing yet.
func newBench(s settings, base string) *bench {
	return &bench{
		settings: s, base: base, began: time.Now(),
		results: map[cell][]sample{}, broken: map[cell]string{}, last: map[string]work{}, failed: map[string]bool{},
		run: execute,
	}
}

// all measures everything, the smallest first.
func (b *bench) all() error {
	for _, f := range b.fields {
		if f.warmed && len(f.sizes) > 0 {
			if err := b.warmUp(f); err != nil {
				return err
			}
		}
		for _, n := range f.sizes {
			if err := b.size(f, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// warmUp runs the fast tools once with the fewest things and forgets what it
// measured, so that programs and libraries are in memory.
func (b *bench) warmUp(f field) error {
	quiet := newBench(b.settings, filepath.Join(b.base, "warm-up"))
	quiet.began = b.began
	fast := f
	fast.tools, fast.rounds = nil, 1
	for _, t := range f.tools {
		if !t.onceIfSlow {
			fast.tools = append(fast.tools, t)
		}
	}
	return quiet.size(fast, f.sizes[0])
}

// size measures all rounds of one number of things.
func (b *bench) size(f field, n int) error {
	places, err := b.places(f, n)
	if err != nil {
		return err
	}
	rounds := f.rounds
	if n >= b.once {
		rounds = 1
	}
	for round := range rounds {
		began := time.Now()
		if round > 0 && began.Sub(b.began) > b.within {
			b.notes = append(b.notes, fmt.Sprintf("%s %s: %d of %d rounds, because -within %s was over", thousands(n), f.name,
				round, rounds, b.within))
			return nil
		}
		for _, w := range f.works {
			for i := range f.tools {
				k := (i + round) % len(f.tools)
				if err := b.one(f, f.tools[k], places[k], w, round); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%s %s, round %d of %d: %.0f s\n", thousands(n), f.name, round+1, rounds,
			time.Since(began).Seconds())
	}
	return nil
}

// places prepares where the tools work with n things.
func (b *bench) places(f field, n int) ([]place, error) {
	places := make([]place, len(f.tools))
	for i, t := range f.tools {
		p := f.place(b.base, n, i)
		places[i] = p
		if t.leavesOut(n) {
			continue
		}
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return nil, err
		}
		if err := f.source(p); err != nil {
			return nil, err
		}
		if err := t.prepare(p); err != nil {
			b.failed[p.dir] = true
			b.without(f, cell{f.works[0], t.name, n}, "it cannot be prepared: "+err.Error())
		}
	}
	return places, nil
}
