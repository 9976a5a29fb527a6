package starfront

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"fettle.dev/fettle/internal/lang/front"
)

// call is the place in a file from which a builtin is called.
type call struct {
	src        *front.Source
	start, end int
	expr       *syntax.CallExpr // nil if another builtin called it
}

// caller returns the innermost call in a file.
func (r *run) caller() call {
	for depth := 1; depth < r.thread.CallStackDepth(); depth++ {
		pos := r.thread.CallFrame(depth).Pos
		src := r.sources[pos.Filename()]
		if src == nil || pos.Line < 1 {
			continue
		}
		c := call{src: src, start: src.Offset(int(pos.Line), int(pos.Col))}
		c.end = c.start + 1
		if c.expr = r.calls[pos]; c.expr != nil {
			c.start, c.end = span(src, c.expr)
		}
		return c
	}
	return call{src: r.out.Src}
}

func span(src *front.Source, n syntax.Node) (start, end int) {
	a, b := n.Span()
	return src.Offset(int(a.Line), int(a.Col)), src.Offset(int(b.Line), int(b.Col))
}

func (c call) node(kind front.Kind, text string) *front.Node {
	return &front.Node{Kind: kind, Text: text, Src: c.src, Start: c.start, End: c.end}
}

// state implements state(KIND, LABEL, …), for kinds whose name is a reserved word of Starlark.
func (r *run) state(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) < 1 {
		return nil, fmt.Errorf("state needs a kind and a label: state(%q, %q)", "file", "/etc/motd")
	}
	kind, ok := starlark.AsString(args[0])
	if !ok {
		return nil, fmt.Errorf("the kind of a state must be a string, not a %s", args[0].Type())
	}
	return r.labelled(kind, args[1:], kwargs)
}

func (r *run) block(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	return r.labelled(b.Name(), args, kwargs)
}

// labelled declares a block: KIND(LABEL, attribute = value, …). A block that contains blocks
// takes a function that declares them: block("base", fn).
func (r *run) labelled(kind string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := r.caller()
	if len(args) < 1 || len(args) > 2 {
		return nil, fmt.Errorf("%s takes a label, then attributes by name: %s(\"NAME\", attribute = value)", kind, kind)
	}
	label, ok := starlark.AsString(args[0])
	if !ok {
		return nil, fmt.Errorf("the label of a %s must be a string, not a %s", kind, args[0].Type())
	}
	body, err := r.body(c, args[1:], kwargs)
	if err != nil {
		return nil, err
	}
	labels := c.node(front.Map, "")
	labels.Pairs = []front.Pair{{Key: c.node(front.Literal, label), Value: body}}
	r.declare(c, kind, labels)
	return reference(kind, label), nil
}

// reference returns the name of a declaration for other expressions.
func reference(kind, label string) starlark.Value {
	switch kind {
	case "variable":
		kind = "var"
	case "define", "output", "target", "role", "target_group", "enrolled", "needs", "test", "rollout",
		"wave", "after", "approval", "compare", "metric", "webhook", "window", "lock", "barrier",
		"signal", "organization", "scope_kind", "scope", "cluster", "environment", "universe":
		return starlark.None
	}
	if strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && label != "" &&
		!strings.ContainsAny(label[:1], "0123456789-") {
		return expression{text: kind + "." + label, kind: front.Expr}
	}
	quoted := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(label))
	return expression{text: kind + "[" + quoted + "]", kind: front.Expr}
}

func (r *run) unlabelled(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	c := r.caller()
	if len(args) > 0 {
		return nil, fmt.Errorf("%s takes only keyword arguments: %s(name = value)", b.Name(), b.Name())
	}
	body, err := r.body(c, nil, kwargs)
	if err == nil {
		r.declare(c, b.Name(), body)
	}
	return starlark.None, err
}

// attribute declares an attribute of the top level, such as vars(name = value).
func (r *run) attribute(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	c := r.caller()
	var value *front.Node
	var err error
	switch {
	case len(args) == 1 && len(kwargs) == 0:
		value, err = r.node(args[0], c.argument(0), 0)
	case len(args) == 0:
		value, err = r.body(c, nil, kwargs)
	default:
		err = fmt.Errorf("%s takes one value, or only keyword arguments", b.Name())
	}
	if err == nil {
		r.declare(c, b.Name(), value)
	}
	return starlark.None, err
}

// lock declares a lock, or the locks of a module with a list or an expression: lock(["NAME"]).
func (r *run) lock(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		if _, label := args[0].(starlark.String); !label {
			return r.attribute(t, b, args, kwargs)
		}
	}
	return r.block(t, b, args, kwargs)
}

func (r *run) declare(c call, name string, value *front.Node) {
	one := c.node(front.Map, "")
	one.Pairs = []front.Pair{{Key: c.node(front.Literal, name), Value: value}}
	r.out.Items = append(r.out.Items, one)
}

// body returns a mapping of attributes. With a function, it returns a list of the mapping and the
// function's declarations.
func (r *run) body(c call, fn starlark.Tuple, kwargs []starlark.Tuple) (*front.Node, error) {
	attrs := c.node(front.Map, "")
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		key, at := c.keyword(name)
		value, err := r.node(kv[1], at, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		attrs.Pairs = append(attrs.Pairs, front.Pair{Key: key, Value: value})
	}
	if len(fn) == 0 {
		return attrs, nil
	}
	if _, ok := fn[0].(starlark.Callable); !ok {
		return nil, fmt.Errorf(
			"after the label write attributes as keyword arguments, or a function that declares the content of the block, "+
				"and not a %s", fn[0].Type())
	}
	if r.thread.CallStackDepth() > maxCalls {
		return nil, fmt.Errorf("blocks are nested more than %d levels deep", maxCalls)
	}
	outer := r.out
	r.out = c.node(front.List, "")
	r.out.Items = []*front.Node{attrs}
	_, err := starlark.Call(r.thread, fn[0], nil, nil)
	inner := r.out
	r.out = outer
	return inner, err
}
