package lang

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
)

// Command is an operation that a user starts in the repository. It consists of parts, run one after
// another, each with an action or a program on some targets. An Action, in contrast, runs on one
// target and has no access to others.
type Command struct {
	Name, Doc string
	Params    []Param
	Parts     []string // their names, in order
	Range     diag.Range
	// Mistakes are the errors of the declaration. A command with errors cannot run.
	Errors diag.List
}

// Part is one part of a command on some targets, with the evaluated parameters.
type Part struct {
	Name string
	// Targets are words of a selection. If there are none, the user selects the targets.
	Targets []string
	// Action is the action that runs, with Params. If it is "", Argv runs.
	Action string
	Params map[string]string
	// Secret are the names of Params that a user typed as a secret.
	Secret []string
	// Argv has one or several commands. The fields below describe how they run.
	Argv      [][]string
	Env       []string // NAME=VALUE
	Dir, User string
	Timeout   time.Duration // 0: not set
	Looks     bool
	// Batch and MaxFailed are amounts, such as 5 or 10%; "" for a batch of all.
	Batch, MaxFailed string
	Range            diag.Range
}

// command is a declared command.
type command struct {
	name, doc string
	rng       diag.Range
	params    *body
	targets   *hclsyntax.Attribute
	parts     []*part
}

type part struct {
	name, action string
	rng          diag.Range
	attrs        map[string]*hclsyntax.Attribute
}

func (ps *parser) command(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "targets"}, []string{"param", "part"})
	switch old := ps.prog.commands[name]; {
	case !hclsyntax.ValidIdentifier(name):
		ps.errorf(r, "Bad name for a command", "%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.errorf(r, "Command declared twice", "The command %q is already declared at %s. Rename or remove one of the two.", name, old.rng)
		return
	}
	at := b.Body.Attributes
	c := &command{name: name, rng: r, doc: ps.textOf(at, "description"), params: ps.params(b), targets: at["targets"]}
	for _, sub := range b.Body.Blocks {
		if sub.Type == "part" {
			ps.part(c, sub)
		}
	}
	if len(c.parts) == 0 {
		ps.errorf(r, "Command without a part", `Add a part with the work of the command: part "restart" { action = "service-restart" }.`)
		return
	}
	ps.prog.commands[name] = c
}

func (ps *parser) part(c *command, b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	at := b.Body.Attributes
	ps.only(b, append([]string{"targets", "action", "params", "command", "batch", "max_failed"}, ownOfCommand()...), nil)
	for _, old := range c.parts {
		if old.name == name {
			ps.errorf(r, "Part declared twice", "The part %q is already declared at %s. Rename or remove one of the two.", name, old.rng)
			return
		}
	}
	x := &part{name: name, rng: r, attrs: at, action: ps.textOf(at, "action")}
	switch {
	case (at["action"] == nil) == (at["command"] == nil):
		ps.errorf(r, "Part without an action or a command", `Set either action or command: action = "service-restart", or command = ["uptime"].`)
		return
	case at["action"] == nil && at["params"] != nil:
		ps.errorf(rangeOf(at["params"].NameRange), "Parameters without an action",
			"Only an action has parameters. Write the values into the words of the command.")
		return
	}
	for _, a := range ownOfCommand() {
		if at["action"] != nil && at[a] != nil {
			ps.errorf(rangeOf(at[a].NameRange), "Attribute of the action", "Remove %s: the declaration of the action sets it.", a)
			return
		}
	}
	c.parts = append(c.parts, x)
}

// ownOfCommand are the attributes of a part with a command, not with an action.
func ownOfCommand() []string { return []string{"changes", "env", "cwd", "user", "timeout"} }

// checkCommands checks the names in commands. Commands have no target, so only their parameters are
// known.
func (ps *parser) checkCommands() {
	if !ps.top {
		return
	}
	for _, name := range sortedKeys(ps.prog.commands) {
		c := ps.prog.commands[name]
		ps.commandNames(c, c.targets)
		for _, x := range c.parts {
			for _, key := range sortedKeys(x.attrs) {
				ps.commandNames(c, x.attrs[key])
			}
		}
	}
}

func (ps *parser) commandNames(c *command, a *hclsyntax.Attribute) {
	if a == nil {
		return
	}
	for _, t := range ps.prog.namesIn(a.Expr) {
		rng := rangeOf(t.SourceRange())
		name, ok := stepName(t, 1)
		switch {
		case t.RootName() != "param":
			ps.errorf(rng, "Not known in a command",
				"A command runs on several targets, so it can use only param here. Move values that depend on the target into an action of a module.")
		case ok && c.params.vars[name] == nil:
			ps.errorf(rng, "Unknown parameter",
				"The command %[2]s has no parameter %[1]q.%[3]s Declare it: "+
					"param %[4]q { type = string }.", name, c.name, Suggest(name, keysOf(c.params.vars)), name)
		}
	}
}

func (p *Program) describedCommand(c *command) Command {
	out := Command{Name: c.name, Doc: c.doc, Params: p.paramsOf(c.params), Range: c.rng}
	for _, x := range c.parts {
		out.Parts = append(out.Parts, x.name)
	}
	return out
}

// CallCommand returns the parts of a command with these parameters. It reports an error if there is
// no command with that name.
func (p *Program) CallCommand(name string, given map[string]string) ([]Part, diag.List) {
	c := p.commands[name]
	if c == nil {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown command", "The repository has no command %q.%s", name, Suggest(name, keysOf(p.commands)))}
	}
	p.loops.begin()
	ev := &evaluator{prog: p, cat: &catalog.Catalog{}, factSet: map[*body]map[string]cty.Value{c.params: {}}, target: cty.EmptyObjectVal}
	ev.add(CheckParams("the command \""+name+"\"", name, p.paramsOf(c.params), given)...)
	if ev.list.HasErrors() {
		return nil, finish(p, ev.list)
	}
	var out []Part
	if s := ev.call("command "+name, c.params, given); s != nil {
		s.fctx = p.pure
		for _, x := range c.parts {
			out = append(out, ev.part(s, c, x))
		}
	}
	return out, finish(p, ev.list)
}

func (ev *evaluator) part(s *scope, c *command, x *part) Part {
	out := Part{Name: x.name, Action: x.action, Range: x.rng, MaxFailed: "0", Params: map[string]string{}}
	targets := x.attrs["targets"]
	if targets == nil {
		targets = c.targets
	}
	out.Targets = ev.words(s, targets)
	for _, a := range []struct {
		name string
		into *string
	}{{"batch", &out.Batch}, {"max_failed", &out.MaxFailed}} {
		at := x.attrs[a.name]
		if at == nil {
			continue
		}
		*a.into = ev.plain(s, at)
		if _, err := amount.Parse(*a.into); err != nil {
			ev.errorf(rangeOf(at.Expr.Range()), "Bad number of targets", "%s: %v.", a.name, err)
		}
	}
	if x.action != "" {
		ev.partParams(s, x, &out)
		return out
	}
	ev.partCommand(s, x, &out)
	return out
}

// words returns a list of strings, or one string as a list.
func (ev *evaluator) words(s *scope, at *hclsyntax.Attribute) []string {
	if at == nil {
		return nil
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if !ok {
		return nil
	}
	if v.Type() == cty.String && !v.IsNull() {
		return []string{v.AsString()}
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || list.IsNull() || list.LengthInt() == 0 {
		ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", "%s must be a list with at least one string.", at.Name)
		return nil
	}
	return ev.texts(at, list)
}

// texts returns the elements of a list of strings. A null element is an error.
func (ev *evaluator) texts(at *hclsyntax.Attribute, list cty.Value) []string {
	var out []string
	for it := list.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() {
			ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", "The list %s contains null. Remove the element, or make it a string.", at.Name)
			return nil
		}
		out = append(out, e.AsString())
	}
	return out
}

// plain returns a string that does not depend on a secret, "" after a diagnostic.
func (ev *evaluator) plain(s *scope, at *hclsyntax.Attribute) string {
	if at == nil {
		return ""
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if !ok {
		return ""
	}
	if v, err := convert.Convert(v, cty.String); err == nil && !v.IsNull() {
		return v.AsString()
	}
	ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", "%s must be a string.", at.Name)
	return ""
}

// partParams evaluates the parameters of the action. A parameter that a user typed as a secret
// stays a secret.
func (ev *evaluator) partParams(s *scope, x *part, out *Part) {
	at := x.attrs["params"]
	if at == nil {
		return
	}
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return
	}
	if plain, _ := v.Unmark(); plain.IsNull() || !plain.Type().IsObjectType() && !plain.Type().IsMapType() {
		ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", "params must be an object: params = { name = value }.")
		return
	}
	values := valueMap(v)
	for _, name := range sortedKeys(values) {
		plain, marks := values[name].UnmarkDeep()
		if len(marks) > 0 {
			out.Secret = append(out.Secret, name)
		}
		if !plain.IsNull() {
			out.Params[name] = asTyped(plain)
		}
	}
}

// asTyped returns a value as a user types it on the command line: a string without quotes, a list
// or an object in the syntax of the language.
func asTyped(v cty.Value) string {
	if text, err := convert.Convert(v, cty.String); err == nil {
		return text.AsString()
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(show(v))
}

func (ev *evaluator) partCommand(s *scope, x *part, out *Part) {
	commands, ok := ev.actionCommands(s, x.attrs["command"])
	if !ok {
		return
	}
	at := x.attrs["command"]
	for _, c := range commands {
		words := wordList(c)
		if words.IsNull() || !words.Type().IsListType() || words.LengthInt() == 0 {
			ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", `A command must be a list of words, such as ["systemctl", "restart", "nginx"].`)
			return
		}
		out.Argv = append(out.Argv, ev.texts(at, words))
	}
	out.Dir, out.User = ev.plain(s, x.attrs["cwd"]), ev.plain(s, x.attrs["user"])
	out.Looks = !ev.changes(s, x)
	if t := x.attrs["timeout"]; t != nil {
		d, err := duration.Parse(ev.plain(s, t))
		switch {
		case err != nil:
			ev.errorf(rangeOf(t.Expr.Range()), "Invalid duration", "The attribute timeout: %s.", err)
		case d <= 0:
			ev.errorf(rangeOf(t.Expr.Range()), "Invalid duration", "The attribute timeout must be longer than 0s.")
		}
		out.Timeout = d
	}
	if e := x.attrs["env"]; e != nil {
		out.Env = ev.environment(s, e)
	}
}

func (ev *evaluator) changes(s *scope, x *part) bool {
	at := x.attrs["changes"]
	if at == nil {
		return true
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if ok && (v.IsNull() || v.Type() != cty.Bool) {
		ev.errorf(rangeOf(at.Expr.Range()), "True or false expected", "Write changes = true or changes = false.")
		return true
	}
	return !ok || v.True()
}

// environment returns NAME=VALUE, sorted. A value can contain a secret that a user typed.
func (ev *evaluator) environment(s *scope, at *hclsyntax.Attribute) []string {
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return nil
	}
	plain, _ := v.UnmarkDeep()
	m, err := convert.Convert(plain, cty.Map(cty.String))
	if err != nil || m.IsNull() {
		ev.errorf(rangeOf(at.Expr.Range()), "Wrong type", `env must be an object of strings: env = { NAME = "value" }.`)
		return nil
	}
	var out []string
	values := m.AsValueMap()
	for _, name := range sortedKeys(values) {
		if e := values[name]; !e.IsNull() && name != "" && !strings.ContainsAny(name, "=\x00") {
			out = append(out, name+"="+e.AsString())
		}
	}
	return out
}

// keysIn returns the keys that an object expression writes literally. ok is false if an expression
// computes a key.
func keysIn(e hclsyntax.Expression) (names []string, ok bool) {
	items, hds := hcl.ExprMap(e)
	if hds.HasErrors() {
		return nil, false
	}
	for _, it := range items {
		v, kds := it.Key.Value(nil)
		if kds.HasErrors() || v.IsNull() || v.Type() != cty.String {
			return nil, false
		}
		names = append(names, v.AsString())
	}
	return names, true
}
