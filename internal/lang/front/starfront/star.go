// Package starfront runs Starlark programs that make configuration.
//
//	doc, err := starfront.Run(src, load)   // file("/etc/motd", content = "hello\n")
//
// A program can only compute. It has no clock, network or randomness, and reads only files that
// load returns. Its number of steps is limited, so it always ends. The same text gives the same
// document.
package starfront

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"fettle.dev/fettle/internal/lang/front"
)

// The limits of one program, with all that it loads.
const (
	// MaxFile is the maximum size of one file in bytes. The Starlark compiler needs more than
	// linear time.
	MaxFile = 128 << 10
	// MaxSteps is the maximum number of computation steps of a program.
	MaxSteps = 10_000_000
	// maxRange is the maximum number of elements that range returns: built-in functions iterate
	// over them without counting steps.
	maxRange = 100_000
	// maxValues is the maximum number of values in all declarations: a list can contain another
	// list many times.
	maxValues = 500_000
	// maxCalls is the maximum depth of nested function calls.
	maxCalls = 200
)

// Loader returns the text of a file that a program loads. It is called once for each name.
type Loader func(name string) (*front.Source, error)

// Run executes a program and returns its declarations: a list of mappings with one pair each, in
// the order of the calls.
func Run(src *front.Source, load Loader) (*front.Node, *front.Error) {
	r := &run{load: load, loaded: map[string]starlark.StringDict{}, sources: map[string]*front.Source{},
		calls: map[syntax.Position]*syntax.CallExpr{},
		out:   &front.Node{Kind: front.List, Src: src}}
	r.thread = &starlark.Thread{Name: src.Name, Load: r.loadFile}
	r.thread.SetMaxExecutionSteps(MaxSteps)
	if _, err := r.file(src); err != nil {
		return nil, r.problem(src, err)
	}
	return r.out, nil
}

// run is the execution of one program.
type run struct {
	thread  *starlark.Thread
	load    Loader
	loaded  map[string]starlark.StringDict // nil while it is being loaded
	sources map[string]*front.Source
	calls   map[syntax.Position]*syntax.CallExpr // by the place of the bracket
	out     *front.Node                          // the node that is being filled
	values  int
}

// file executes one file and returns its globals.
func (r *run) file(src *front.Source) (starlark.StringDict, error) {
	if len(src.Text) > MaxFile {
		return nil, front.Errorf(src, 0, 0, "File too large",
			"The file has %d bytes, and the limit for Starlark is %d. Split it into several files and load them.",
			len(src.Text), MaxFile)
	}
	r.sources[src.Name] = src
	options := &syntax.FileOptions{TopLevelControl: true}
	f, err := options.Parse(src.Name, src.Text, 0)
	if err != nil {
		return nil, err
	}
	globals := r.predeclared(f)
	prog, err := starlark.FileProgram(f, globals.Has)
	if err != nil {
		return nil, err
	}
	out, err := prog.Init(r.thread, globals)
	out.Freeze()
	return out, err
}

// predeclared returns the predeclared names of a file: the language's blocks, and as a kind every
// called name that Starlark does not define. Unknown kinds are reported later, when all kinds are
// known.
func (r *run) predeclared(f *syntax.File) starlark.StringDict {
	words := starlark.StringDict{}
	add := func(name string, fn func(*starlark.Thread, *starlark.Builtin, starlark.Tuple,
		[]starlark.Tuple) (starlark.Value, error)) {
		words[name] = starlark.NewBuiltin(name, fn)
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			r.calls[c.Lparen] = c
			if id, ok := c.Fn.(*syntax.Ident); ok && starlark.Universe[id.Name] == nil {
				add(id.Name, r.block)
			}
		}
		return true
	})
	for _, name := range []string{"variable", "fact", "define", "output", "lookup", "action", "command", "param", "part",
		"block", "target", "role", "target_group", "enrolled", "module", "needs", "exported", "test",
		"rollout", "wave", "after", "approval", "compare", "metric", "webhook", "window", "barrier", "signal",
		"organization", "scope_kind", "scope", "cluster", "environment", "universe", "check", "task"} {
		add(name, r.block)
	}
	add("lock", r.lock)
	for _, name := range []string{"locals", "policy", "ssh", "validation", "expect", "verify", "undo"} {
		add(name, r.unlabelled)
	}
	for _, name := range []string{"vars", "merge", "data", "layer", "version"} {
		add(name, r.attribute)
	}
	add("state", r.state)
	add("expr", r.expr)
	add("template", r.expr)
	add("range", bounded)
	add("print", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return nil, errors.New("print is not available; to end the program with a message, use fail(…)")
	})
	return words
}

func bounded(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err == nil && starlark.Len(v) > maxRange {
		return nil, fmt.Errorf("range returns more than %d numbers", maxRange)
	}
	return v, err
}

// loadFile implements load("lib.star", "name").
func (r *run) loadFile(_ *starlark.Thread, name string) (starlark.StringDict, error) {
	if globals, known := r.loaded[name]; known {
		if globals == nil {
			return nil, errors.New("the files load each other in a cycle; remove one load statement")
		}
		return globals, nil
	}
	src, err := r.load(name)
	if err != nil {
		return nil, err
	}
	r.loaded[name] = nil
	globals, err := r.file(src)
	if err == nil {
		r.loaded[name] = globals
	}
	return globals, err
}

// problem returns the error at the innermost place that is in a file.
func (r *run) problem(src *front.Source, err error) *front.Error {
	var mine *front.Error
	if errors.As(err, &mine) {
		return mine
	}
	at, message := syntax.Position{}, err.Error()
	var list resolve.ErrorList
	var se syntax.Error
	var ee *starlark.EvalError
	from := ""
	switch {
	case errors.As(err, &list) && len(list) > 0:
		at, message = list[0].Pos, list[0].Msg
	case errors.As(err, &se):
		at, message = se.Pos, se.Msg
	case errors.As(err, &ee):
		message = strings.TrimPrefix(ee.Msg, "Starlark computation cancelled: ")
		if strings.HasSuffix(message, "too many steps") {
			message = fmt.Sprintf("the program needs more than %d computation steps", MaxSteps)
		}
		at, from = r.innermost(ee.CallStack)
	}
	if s := r.sources[at.Filename()]; s != nil {
		src = s
	}
	start := src.Offset(int(at.Line), int(at.Col))
	return front.Errorf(src, start, start+1, "Invalid program", "The program cannot be run: %s.%s",
		strings.TrimRight(message, "."), from)
}

// innermost returns the last call in a file, and a text with the place of its caller.
func (r *run) innermost(stack starlark.CallStack) (syntax.Position, string) {
	at, from := syntax.Position{}, ""
	for i := range stack {
		pos := stack.At(i).Pos
		if r.sources[pos.Filename()] == nil || pos.Line < 1 {
			continue
		}
		if at.Line > 0 {
			return at, from + fmt.Sprintf(" It was called at %s:%d:%d.", pos.Filename(), pos.Line, pos.Col)
		}
		at = pos
	}
	return at, from
}
