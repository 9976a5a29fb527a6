package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// one does one work with one tool, unless it was found slow before or is not
// asked for. A tool that failed does nothing more in its place: the others go on.
func (b *bench) one(f field, t tool, p place, w work, round int) error {
	c := cell{w, t.name, p.n}
	if !b.wanted(w, t.name) || t.leavesOut(p.n) || b.failed[p.dir] || b.isSlow(f, t, p.n, round) {
		return nil
	}
	if w == verifyAll && t.readsAll {
		b.results[c] = append(b.results[c], b.ofRound(cell{noChange, t.name, p.n}, round)...)
		return nil
	}
	argv := t.command(p, w)
	if argv == nil {
		return nil
	}
	s, err := b.attempt(t, p, w, argv)
	if err != nil {
		b.failed[p.dir] = true
		b.without(f, c, err.Error())
		return nil
	}
	if err := f.check(p); err != nil {
		b.without(f, c, "afterwards "+err.Error())
		return f.heal(p)
	}
	s.round = round
	b.results[c] = append(b.results[c], s)
	return nil
}

// attempt does what a work begins with, and the work.
func (b *bench) attempt(t tool, p place, w work, argv []string) (sample, error) {
	if err := b.before(t, p, w); err != nil {
		return sample{}, err
	}
	if err := syncAll(b.base); err != nil {
		return sample{}, err
	}
	s, err := b.run(t, p, argv)
	b.last[p.dir] = w
	return s, err
}

// without notes why a cell has no figure, once.
func (b *bench) without(f field, c cell, why string) {
	if b.broken[c] == "" {
		b.notes = append(b.notes, fmt.Sprintf("%s, %s, %s %s: no figure: %s", c.tool, c.work, thousands(c.n), f.name, why))
	}
	b.broken[c] = why
}

// ofRound are the samples of one round.
func (b *bench) ofRound(c cell, round int) []sample {
	var out []sample
	for _, s := range b.results[c] {
		if s.round == round {
			out = append(out, s)
		}
	}
	return out
}

// execute runs a tool's program to its end.
func execute(t tool, p place, argv []string) (sample, error) {
	var env []string
	if t.env != nil {
		env = t.env(p)
	}
	return measure(argv, env, p.root, filepath.Join(p.dir, "log"))
}

// isSlow tells whether an earlier round had a run above the bound.
func (b *bench) isSlow(f field, t tool, n, round int) bool {
	for _, w := range f.works {
		for _, s := range b.results[cell{w, t.name, n}] {
			if t.onceIfSlow && s.round < round && s.wall > b.slow {
				return true
			}
		}
	}
	return false
}

// before brings about what a work begins with.
func (b *bench) before(t tool, p place, w work) error {
	if w == startEnd || w == oneCatalog || w == validateAll || w == fleetDiff {
		return nil
	}
	if w == firstApply {
		return b.reset(p)
	}
	if b.last[p.dir] == "" {
		if err := b.quietly(t, p, firstApply, func() error { return b.reset(p) }); err != nil {
			return err
		}
	}
	if w == coldList {
		time.Sleep(young)
		return b.aside(filepath.Join(p.live, "state/cache/lists"))
	}
	if last := b.last[p.dir]; t.settles && (last == firstApply || last == repair) {
		if err := b.quietly(t, p, noChange, func() error { time.Sleep(young); return nil }); err != nil {
			return err
		}
	}
	if w == repair {
		return damageTree(p.dest, p.n)
	}
	return nil
}

// young is how long a file may change unseen after a change: it is read once
// more, and that is not what a run without changes costs.
const young = 50 * time.Millisecond

// quietly does a work that nobody measures.
func (b *bench) quietly(t tool, p place, w work, first func() error) error {
	if err := first(); err != nil {
		return err
	}
	if _, err := b.run(t, p, t.command(p, w)); err != nil {
		return err
	}
	b.last[p.dir] = w
	return nil
}

// reset moves what there was aside and begins anew.
func (b *bench) reset(p place) error {
	if p.live == "" {
		return nil
	}
	if err := b.aside(p.live); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Dir(p.dest), 0o755)
}

// aside moves a path out of the way; nothing is deleted before the end.
func (b *bench) aside(path string) error {
	b.moved++
	trash := filepath.Join(b.base, "trash", strconv.Itoa(b.moved))
	if err := os.MkdirAll(filepath.Dir(trash), 0o755); err != nil {
		return err
	}
	if err := os.Rename(path, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
