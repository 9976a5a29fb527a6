package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// work is what a tool is asked to do.
type work string

const (
	firstApply work = "first apply"
	noChange   work = "no change"
	verifyAll  work = "no change, every byte verified"
	repair     work = "repair of 1 %"
)

func works() []work { return []work{firstApply, noChange, verifyAll, repair} }

// place is where one tool works with one number of files.
type place struct {
	n    int
	dir  string // the tool's own
	live string // what is new for each first apply: root and state
	dest string // of the tree, on this machine
}

// tool is one way to get the files in place.
type tool struct {
	name  string
	about string
	// prepare writes what the tool reads: once for each number of files.
	prepare func(p place) error
	// command is what is run, nil when the tool has nothing for this work.
	command func(p place, w work) []string
	env     func(p place) []string
	// onceIfSlow lets rounds be left out when a run takes too long. What others
	// are compared with never is: one run says little on a busy machine.
	onceIfSlow bool
}

// cell is one place of the table.
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
	tools   []tool
	notes   []string
	results map[cell][]sample
	broken  map[cell]string // why there is no figure
	start   []sample        // of fettle version
	moved   int             // folders moved aside
}

func (b *bench) all() error {
	if err := b.warmUp(); err != nil {
		return err
	}
	for _, n := range b.sizes {
		if err := b.size(n, b.rounds, "w"+strconv.Itoa(n)); err != nil {
			return err
		}
	}
	return b.startUp()
}

// warmUp runs everything once and forgets what it measured.
func (b *bench) warmUp() error {
	quiet := *b
	quiet.results, quiet.broken = map[cell][]sample{}, map[cell]string{}
	return quiet.size(b.sizes[0], 1, "warm-up")
}

// startUp measures the shortest run there is.
func (b *bench) startUp() error {
	for range 11 {
		s, err := measure([]string{b.fettle, "version"}, nil, filepath.Join(b.base, "version.log"))
		if err != nil {
			return err
		}
		b.start = append(b.start, s)
	}
	return nil
}

func (b *bench) size(n, rounds int, name string) error {
	places := make([]place, len(b.tools))
	for i, t := range b.tools {
		dir := filepath.Join(b.base, name, "t"+strconv.Itoa(i))
		p := place{n: n, dir: dir, live: filepath.Join(dir, "live"), dest: filepath.Join(dir, "live/root/srv/data")}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := t.prepare(p); err != nil {
			return fmt.Errorf("cannot prepare %s: %w", t.name, err)
		}
		places[i] = p
	}
	for round := range rounds {
		for _, w := range works() {
			for i := range b.tools {
				k := (i + round) % len(b.tools)
				if err := b.one(b.tools[k], places[k], w, round); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%s files, round %d of %d: done\n", thousands(n), round+1, rounds)
	}
	return nil
}

// one does one work with one tool, unless it was found slow before.
func (b *bench) one(t tool, p place, w work, round int) error {
	c := cell{w, t.name, p.n}
	argv := t.command(p, w)
	if argv == nil || b.isSlow(t, p.n) {
		return nil
	}
	if err := b.before(t, p, w); err != nil {
		return err
	}
	if err := syncAll(b.base); err != nil {
		return err
	}
	s, err := measure(argv, environment(t, p), filepath.Join(p.dir, "log"))
	if err != nil {
		return fmt.Errorf("%s, %s, %d files: %w", t.name, w, p.n, err)
	}
	if err := checkTree(p.dest, p.n); err != nil {
		if b.broken[c] == "" {
			b.notes = append(b.notes, fmt.Sprintf("%s, %s, %s files: no figure, because afterwards %s", t.name, w, thousands(p.n), err))
		}
		b.broken[c] = err.Error()
		return healTree(p.dest, p.n)
	}
	s.round = round
	b.results[c] = append(b.results[c], s)
	return nil
}

// isSlow tells whether a whole round with a run above the bound is behind us.
func (b *bench) isSlow(t tool, n int) bool {
	rounds, longest := 0, time.Duration(0)
	for _, w := range works() {
		for _, s := range b.results[cell{w, t.name, n}] {
			longest = max(longest, s.wall)
			if w == repair {
				rounds++
			}
		}
	}
	return t.onceIfSlow && rounds > 0 && longest > b.slow
}

func (b *bench) before(t tool, p place, w work) error {
	switch w {
	case firstApply:
		return b.reset(p)
	case noChange:
		// Files of the last moments are young enough to change unseen, and are
		// read once more. That is not what a run without changes costs.
		time.Sleep(50 * time.Millisecond)
		_, err := measure(t.command(p, w), environment(t, p), filepath.Join(p.dir, "log"))
		return err
	case repair:
		return damageTree(p.dest, p.n)
	}
	return nil
}

// reset moves what there was aside and begins anew.
func (b *bench) reset(p place) error {
	b.moved++
	trash := filepath.Join(b.base, "trash", strconv.Itoa(b.moved))
	if err := os.MkdirAll(filepath.Dir(trash), 0o755); err != nil {
		return err
	}
	if err := os.Rename(p.live, trash); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.MkdirAll(filepath.Dir(p.dest), 0o755)
}

func environment(t tool, p place) []string {
	if t.env == nil {
		return nil
	}
	return t.env(p)
}
