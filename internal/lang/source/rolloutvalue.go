package source

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/secret"
)

// rolloutBlock reads one rollout block. Its values are evaluated before any target is known.
type rolloutBlock struct {
	*parser
	out *Strategy
}

// amount returns a number of targets or a percentage, as package amount writes it.
func (x rolloutBlock) amount(a *hclsyntax.Attribute, absent string, positive bool) string {
	if a == nil {
		return absent
	}
	text, ok := x.scalar(a, `a number such as 3, or a percentage such as "25%"`)
	if !ok {
		return "0"
	}
	n, err := amount.Parse(text)
	switch {
	case err != nil:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number of targets", "%s: %v.", a.Name, err)
	case positive && n.Number == 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number of targets",
			"%s must be at least 1 or 1%%, and this is %q.", a.Name, text)
	}
	return n.String()
}

// seconds returns a duration in seconds.
func (x rolloutBlock) seconds(a *hclsyntax.Attribute, absent string, positive bool) int64 {
	text := absent
	if a != nil {
		given, ok := x.scalar(a, `a duration such as "10m"`)
		if !ok {
			return 0
		}
		text = given
	}
	d, err := duration.Parse(text)
	switch {
	case err != nil:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s: %s.", a.Name, err)
	case d%time.Second != 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must have whole seconds.", a.Name)
	case positive && d == 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must be longer than 0s.", a.Name)
	}
	return int64(d / time.Second)
}

// scalar returns a string or a number as text. want describes the value in an error.
func (x rolloutBlock) scalar(a *hclsyntax.Attribute, want string) (string, bool) {
	v, hds := a.Expr.Value(x.within(x.prog.Pure))
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return "", false
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be %s.", a.Name, want)
		return "", false
	}
	return text.AsString(), true
}

// scopeBlock reads a block of a scope, or a scope_kind block. Its values are evaluated before any target is known.
type scopeBlock struct{ rolloutBlock }

// context evaluates values of scopes. Functions read files of the top of the repository.
func (x scopeBlock) context() *hcl.EvalContext {
	return x.within(x.prog.Functions(x.body.Directory.asVisible()))
}

// textIn returns a text, "" without the attribute.
func (x scopeBlock) textIn(a *hclsyntax.Attribute) string {
	if a == nil {
		return ""
	}
	v, hds := a.Expr.Value(x.context())
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return ""
	}
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be a text in quotes.", a.Name)
		return ""
	}
	return v.AsString()
}

// whole returns a whole number within limits.
func (x scopeBlock) whole(a *hclsyntax.Attribute, absent, least, most int) int {
	if a == nil {
		return absent
	}
	text, ok := x.scalar(a, "a whole number")
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < least || n > most) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number", "%s must be a whole number from %d to %d, and this is %q.",
			a.Name, least, most, text)
	}
	return n
}

// choice returns one of several texts. The first is the default.
func (x scopeBlock) choice(a *hclsyntax.Attribute, all []string) string {
	if a == nil {
		return all[0]
	}
	text, ok := x.scalar(a, "one of "+strings.Join(all, ", "))
	if ok && !slices.Contains(all, text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(all, ", "), text, syntax.Near(text, all))
	}
	return text
}

// between returns a time in seconds within limits.
func (x scopeBlock) between(a *hclsyntax.Attribute, absent string, least, most int64) int64 {
	before := len(x.List)
	n := x.seconds(a, absent, false)
	if a != nil && len(x.List) == before && (n < least || n > most) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "%s must be from %d to %d seconds.", a.Name, least, most)
	}
	return n
}

// Cycle returns a cycle of a graph: a path whose last node is its first. It is nil if there is none.
func Cycle(edges map[string][]string, nodes []string) (cycle []string) {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var walk func(node string) bool
	walk = func(node string) bool {
		switch state[node] {
		case done:
			return false
		case open:
			cycle = append(slices.Clone(path[slices.Index(path, node):]), node)
			return true
		}
		state[node], path = open, append(path, node)
		if slices.ContainsFunc(edges[node], walk) {
			return true
		}
		state[node], path = done, path[:len(path)-1]
		return false
	}
	if slices.ContainsFunc(nodes, walk) {
		return cycle
	}
	return nil
}

const (
	maxTaskSecrets  = 16
	maxVariableName = 64
)

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`) })

// ValidVariable reports whether a secret can be in an environment variable. Names with an effect on the program that
// starts the command, or on the loader of programs, are not valid.
func ValidVariable(name string) bool {
	reserved := []string{"PATH", "HOME", "IFS", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_ENV", "GCONV_PATH"}
	return variableName().MatchString(name) && len(name) <= maxVariableName && !slices.Contains(reserved, name) &&
		!strings.HasPrefix(name, "FETTLE_") && !strings.HasPrefix(name, "LD_")
}

// taskSecrets reads the names of the secrets of a task, by environment variable. Only hubs can decrypt them, so a task
// of members has none.
func (x scopeBlock) taskSecrets(a *hclsyntax.Attribute, hubs bool) map[string]string {
	if a == nil {
		return nil
	}
	at := syntax.RangeOf(a.Expr.Range())
	if !hubs {
		x.Errorf(syntax.RangeOf(a.NameRange), "Secrets of a task of members",
			"Only tasks that hubs do have secrets. Declare the task in a universe block, or write the secret to a file of "+
				"the members, which the command reads.")
		return nil
	}
	v, hds := a.Expr.Value(x.context())
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	all, err := convert.Convert(v, cty.Map(cty.String))
	if err != nil || all.IsNull() || !all.IsWhollyKnown() || all.LengthInt() > maxTaskSecrets {
		x.Errorf(at, "Wrong type", `secrets must be an object with up to %d names of secrets: secrets = { TSIG_KEY = `+
			`"hubs/tsig" }.`, maxTaskSecrets)
		return nil
	}
	out := map[string]string{}
	for _, name := range syntax.SortedNames(all.AsValueMap()) {
		if s := all.Index(cty.StringVal(name)); !s.IsNull() {
			out[name] = s.AsString()
		}
		x.taskSecret(at, name, out[name])
	}
	return out
}

// taskSecret reports a name that a command cannot get, and a secret that does not exist.
func (x scopeBlock) taskSecret(at diag.Range, variable, name string) {
	if !ValidVariable(variable) {
		x.Errorf(at, "Bad name of a variable", "%q cannot be the environment variable of a secret. Use up to %d capital "+
			"letters, digits and _, and begin with a letter. PATH, HOME and names that begin with LD_ or FETTLE_ are "+
			"reserved, as are names that shells read.", variable, maxVariableName)
		return
	}
	if err := secret.CheckName(name); err != nil {
		x.Errorf(at, "Bad name of a secret", "%s", syntax.Sentence(err))
		return
	}
	if _, _, err := x.prog.Tree.Digest(secret.PathOf(name)); err != nil {
		x.Errorf(at, "Unknown secret", "The repository has no secret %q. Create it: fettle secret set %s", name, name)
	}
}
