package limited

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// batch is the number of targets in one question. It is small enough that a slow host answers in
// time.
const batch = 50

// Fleet compiles many targets of the input's tree, concurrently in all compilers of the pool. Each
// compiler computes the common parts of its targets once. The members are in the order of targets;
// a target with an error is missing. The result does not depend on the distribution of targets.
func (p *Pool) Fleet(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List) {
	parts := slices.Collect(slices.Chunk(targets, batch))
	found := make([][]compile.Member, len(parts))
	wrong := make([]diag.List, len(parts))
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(len(p.all), len(parts)) {
		wait.Go(func() {
			c := p.take(in.Tree)
			defer func() { p.free <- c }()
			for i := range next {
				found[i], wrong[i] = c.fleet(in, parts[i], lists)
			}
		})
	}
	for i := range parts {
		next <- i
	}
	close(next)
	wait.Wait()
	ds := slices.Concat(wrong...)
	slices.SortStableFunc(ds, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Range.File, b.Range.File) })
	return slices.Concat(found...), ds
}

// Names returns the names of compile.Repository.Names for two revisions of a repository, both at
// the same time.
func (p *Pool) Names(before, now repo.Tree) (names [2][]string, ds [2]diag.List) {
	var wait sync.WaitGroup
	for i := range names {
		wait.Go(func() {
			c := p.take(now)
			defer func() { p.free <- c }()
			failed := c.both(before, now, func(k *child.Client) (err error) {
				names[i], ds[i], err = k.Names(i == 0)
				return err
			})
			if failed != nil {
				names[i], ds[i] = nil, failed
			}
		})
	}
	wait.Wait()
	return names, ds
}

// Diff is compile.Revisions.Diff for many targets, from the revision before to the input's tree,
// concurrently in all compilers of the pool. It yields the differences of several targets at a
// time, in the order of targets, with their diagnostics. If these contain an error,
// there are no differences. The caller can stop the iteration early.
func (p *Pool) Diff(before repo.Tree, in compile.Input, targets []compile.Compared) iter.Seq2[[]compile.Difference,
	diag.List] {
	return func(yield func([]compile.Difference, diag.List) bool) {
		var wait sync.WaitGroup
		defer wait.Wait()
		ahead := make(chan chan answer, len(p.all)) // in the order of targets
		stop := make(chan struct{})
		defer close(stop)
		wait.Go(func() {
			defer close(ahead)
			for part := range slices.Chunk(targets, batch) {
				got := make(chan answer, 1)
				select {
				case ahead <- got:
				case <-stop:
					return
				}
				wait.Go(func() { got <- p.diff(before, in, part) })
			}
		})
		for got := range ahead {
			a := <-got
			if !yield(a.found, a.wrong) {
				return
			}
		}
	}
}

// answer is the result of one question about differences.
type answer struct {
	found []compile.Difference
	wrong diag.List
}

func (p *Pool) diff(before repo.Tree, in compile.Input, part []compile.Compared) (a answer) {
	c := p.take(in.Tree)
	defer func() { p.free <- c }()
	failed := c.both(before, in.Tree, func(k *child.Client) (err error) {
		a.found, a.wrong, err = k.Diff(in, part)
		return err
	})
	if failed != nil {
		return answer{wrong: failed}
	}
	return a
}

// both is like ask, for a child that also has the previous revision.
func (c *Compiler) both(before, now repo.Tree, question func(*child.Client) error) diag.List {
	return c.ask(now, func(k *child.Client) error {
		var v child.Vault
		if c.vault != nil {
			v = c.vault(before)
		}
		if err := k.Before(before, v); err != nil {
			return err
		}
		return question(k)
	})
}

// fleet is compile.Fleet.List for many targets.
func (c *Compiler) fleet(in compile.Input, targets []string, lists bool) (out []compile.Member, ds diag.List) {
	failed := c.ask(in.Tree, func(k *child.Client) (err error) {
		out, ds, err = k.Fleet(in, targets, lists)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	return out, ds
}
