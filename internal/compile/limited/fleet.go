package limited

import (
	"cmp"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
)

// batch is how many targets are asked for at once: few enough that a slow machine
// answers in time.
const batch = 50

// Fleet compiles many targets of the input's tree, in all compilers of the pool
// at the same time, each doing once what its targets have in common. The members
// come in the order of targets; one with a mistake is missing. What it gives does
// not depend on who compiled what.
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
