package limited

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// Pool is a set of compilers for concurrent questions. It starts a further compiler only if none is
// likely to become free before the start ends. Its methods are safe for concurrent use.
type Pool struct {
	all   []*Compiler
	free  chan *Compiler // already used
	fresh chan *Compiler
	mu    sync.Mutex // of take
}

// NewPool makes a pool with at most n compilers, at least one. The caller must close it.
func NewPool(ctx context.Context, word string, size int) *Pool { return newPool(ctx, word, size, nil) }

// NewPoolWith makes a pool with an existing compiler, which the caller can also use directly.
func NewPoolWith(ctx context.Context, word string, size int, first *Compiler) *Pool {
	return newPool(ctx, word, size, first)
}

func newPool(ctx context.Context, word string, size int, first *Compiler) *Pool {
	size = max(size, 1)
	p := &Pool{free: make(chan *Compiler, size), fresh: make(chan *Compiler, size)}
	if first != nil {
		p.all = append(p.all, first)
		p.free <- first
	}
	for len(p.all) < size {
		c := New(ctx, word)
		p.all = append(p.all, c)
		p.fresh <- c
	}
	return p
}

// Limit is Compiler.Limit for all.
func (p *Pool) Limit(timeout time.Duration, memory int64) {
	for _, c := range p.all {
		c.Limit(timeout, memory)
	}
}

// Secrets is Compiler.Secrets for all.
func (p *Pool) Secrets(of func(repo.Tree) child.Vault) {
	for _, c := range p.all {
		c.Secrets(of)
	}
}

// Answer implements compile.Answerer, in a free compiler.
func (p *Pool) Answer(q compile.Question) (any, diag.List) {
	c := p.take(q.Tree)
	defer func() { p.free <- c }()
	return c.Answer(q)
}

// Close ends the children that are left.
func (p *Pool) Close() {
	for _, c := range p.all {
		c.Close()
	}
}

// patience is the time to wait for a busy compiler before another one starts. A start takes about
// as long.
const patience = 20 * time.Millisecond

// take waits for a free compiler. It prefers a compiler that has already read the tree. The
// caller must return the compiler to free.
func (p *Pool) take(tree repo.Tree) *Compiler {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := p.next()
	for range len(p.all) - 1 {
		if best.has(tree) {
			return best
		}
		select {
		case c := <-p.free:
			p.free <- best
			best = c
		default:
			return best
		}
	}
	return best
}

// next returns a used compiler if one becomes free soon, otherwise a new one.
func (p *Pool) next() *Compiler {
	if len(p.fresh) == 0 {
		return <-p.free
	}
	if len(p.fresh) == len(p.all) {
		return <-p.fresh
	}
	soon := time.NewTimer(patience)
	defer soon.Stop()
	select {
	case c := <-p.free:
		return c
	case <-soon.C:
		return <-p.fresh
	}
}
