// Package limited compiles in a child process with limits, because a repository is hostile input.
// If it takes too long or too much memory, or crashes the compiler, the result is a diagnostic with
// the last place.
//
//	c := limited.New(ctx, "compile-child")
//	defer c.Close()
//	res, ds := compile.Ask(c, compile.ListQuery{Input: input})
//
//	limited.Child(os.Args[2:], os.Stdin, os.Stdout) // in the binary's main, for that first argument
//
// The results are equal to the results of package compile, byte for byte.
package limited

import (
	"context"
	"io"
	"sync"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/sandbox"
)

// DefaultTimeout is the time limit of one question.
const DefaultTimeout = 30 * time.Second

// reuse is the time that one child can spend on questions before a new child replaces it. The CPU
// limit of a child covers its whole life, and would otherwise end a long series of short questions.
const reuse = 30 * time.Second

// Compiler sends questions to children. One child is used for consecutive questions about the same
// tree; two repositories never share a child. Its methods are safe for concurrent use, one at a
// time.
type Compiler struct {
	ctx  context.Context
	word string

	mu      sync.Mutex
	vault   func(repo.Tree) child.Vault
	timeout time.Duration
	memory  int64
	proc    *sandbox.Child
	client  *child.Client
	tree    repo.Tree
	spent   time.Duration
}

// New makes a compiler whose children are this binary, called with the argument word. Cancelling
// ctx ends the current question with a diagnostic. The caller must close the compiler.
func New(ctx context.Context, word string) *Compiler {
	return &Compiler{ctx: ctx, word: word, timeout: DefaultTimeout}
}

// Limit sets the limits of later children, 0 for the defaults. A child with other limits is ended.
func (c *Compiler) Limit(timeout time.Duration, memory int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if c.timeout != timeout || c.memory != memory {
		c.end()
		c.timeout, c.memory = timeout, memory
	}
}

// Secrets sets the function that opens the secrets of a tree for later questions; nil makes all of
// them placeholders.
func (c *Compiler) Secrets(of func(repo.Tree) child.Vault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vault = of
}

// Prepare starts a child, so that it is ready for the first question.
func (c *Compiler) Prepare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		c.proc, _ = sandbox.Start(c.limits(), c.word) // the first question reports the error
	}
}

// Limits returns the limits of its children.
func (c *Compiler) Limits() sandbox.Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits()
}

// limits returns the limits of a child. The CPU limit allows two threads for all questions of the
// child, with a reserve, so that normally the parent's timeout ends a slow child.
func (c *Compiler) limits() sandbox.Limits {
	return sandbox.Limits{Memory: c.memory, CPU: 2*(c.timeout+reuse) + 10*time.Second}
}

// Close ends the child that is left.
func (c *Compiler) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

func (c *Compiler) end() {
	if c.proc != nil {
		c.proc.Kill()
		c.proc.End()
	}
	c.proc, c.client, c.tree, c.spent = nil, nil, nil, 0
}

// has reports whether its child has read the tree.
func (c *Compiler) has(tree repo.Tree) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client != nil && c.tree == tree
}

// Answer implements compile.Answerer. If the child ends, the answer is a diagnostic with the reason.
func (c *Compiler) Answer(q compile.Question) (found any, ds diag.List) {
	failed := c.ask(q.Tree, func(k *child.Client) (err error) {
		found, ds, err = k.Answer(q.Query)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	return found, ds
}

// Targets is compile.Targets.
func (c *Compiler) Targets(tree repo.Tree) ([]query.Target, diag.List) {
	return compile.Ask(c, compile.TargetsQuery{About: compile.About{Tree: tree}})
}

// Strategies is compile.Strategies.
func (c *Compiler) Strategies(tree repo.Tree) ([]query.Strategy, diag.List) {
	return compile.Ask(c, compile.StrategiesQuery{About: compile.About{Tree: tree}})
}

// Locks is compile.Locks.
func (c *Compiler) Locks(tree repo.Tree) ([]source.Lock, diag.List) {
	return compile.Ask(c, compile.LocksQuery{About: compile.About{Tree: tree}})
}

// States returns the states that a revision declares.
func (c *Compiler) States(tree repo.Tree) ([]query.DeclaredState, diag.List) {
	return compile.Ask(c, compile.StatesQuery{About: compile.About{Tree: tree}})
}

// Waits is compile.Waits.
func (c *Compiler) Waits(tree repo.Tree) (query.Coordination, diag.List) {
	return compile.Ask(c, compile.WaitsQuery{About: compile.About{Tree: tree}})
}

// Scopes is compile.Scopes.
func (c *Compiler) Scopes(tree repo.Tree) (query.Scopes, diag.List) {
	return compile.Ask(c, compile.ScopesQuery{About: compile.About{Tree: tree}})
}

// ask sends a question to the child of the tree. It returns nil, or the reason for the end of the
// child.
func (c *Compiler) ask(tree repo.Tree, question func(*child.Client) error) diag.List {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil && (c.tree != tree || c.spent > reuse) {
		c.end()
	}
	if c.proc == nil {
		var err error
		if c.proc, err = sandbox.Start(c.limits(), c.word); err != nil {
			return cannotStart(err)
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, c.proc.Kill)
	err := c.connected(tree, question)
	c.spent += time.Since(began)
	if stop() && err == nil {
		return nil
	}
	end := c.proc.End()
	words := firstLine(end.Stderr, err)
	if c.client != nil && c.client.Knows() {
		words = "its output is not shown, because it can contain secrets"
	}
	c.end()
	return c.died(tree, end, words, err, context.Cause(ctx))
}

func (c *Compiler) connected(tree repo.Tree, question func(*child.Client) error) error {
	if c.client == nil {
		k, err := child.Connect(c.proc.Out, c.proc.In, tree)
		if err != nil {
			return err
		}
		c.client, c.tree = k, tree
		if c.vault != nil {
			k.Open(c.vault(tree))
		}
	}
	return question(c.client)
}

// Child is the main function of the child process: it limits itself and answers until its input
// ends. args are the arguments after the compiler's word.
func Child(args []string, in io.Reader, out io.Writer) error {
	inside, err := sandbox.Enter(args)
	if err != nil {
		return err
	}
	return child.Serve(in, out, func(r diag.Range) { inside.Note(note(r)) })
}
