package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/step"
)

// Limits of checks and tasks of scopes. Times are in seconds.
const (
	minEvery       = 5
	maxEvery       = 3600
	maxTestTime    = 300
	maxTaskTime    = 24 * 3600
	maxRetries     = 100
	maxTaskInput   = 1 << 20 // bytes
	maxInputs      = 8 << 20 // bytes of the inputs of all tasks
	maxTaskCommand = 64 << 10
	maxProbeText   = 4 << 10
)

// DigestOf returns the digest of the content of a check or a task.
func DigestOf(content any) string {
	text, err := json.Marshal(content)
	if err != nil {
		return "" // all contents are texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// probeAttributes are the attributes of a condition, with the meaning that they have in a state of the kind check.
func probeAttributes() []string {
	return []string{"http", "status", "tcp", "exec", "unit", "file", "contains"}
}

// probe reads a condition.
func (x scopeBlock) probe(b *hclsyntax.Block) Probe {
	at, before := b.Body.Attributes, len(x.List)
	p := Probe{HTTP: x.textIn(at["http"]), TCP: x.textIn(at["tcp"]), Exec: x.textIn(at["exec"]),
		Unit: x.textIn(at["unit"]), File: x.textIn(at["file"]), Contains: x.textIn(at["contains"])}
	if at["http"] != nil {
		p.Status = x.whole(at["status"], 200, 100, 599)
	} else if at["status"] != nil {
		x.Errorf(syntax.RangeOf(at["status"].NameRange), "Attribute without effect", "status has an effect only with http.")
	}
	if p.Unit != "" && !strings.Contains(p.Unit, ".") {
		p.Unit += ".service"
	}
	var given []string
	for _, name := range probeAttributes() {
		if at[name] != nil && name != "status" && name != "contains" {
			given = append(given, name)
		}
	}
	if len(given) != 1 {
		x.Errorf(headerOf(b), "Not one condition", "Set one of http, tcp, exec, unit and file. This block has %d of them.",
			len(given))
		return p
	}
	if err := p.Valid(); err != nil && len(x.List) == before {
		x.Errorf(syntax.RangeOf(at[given[0]].Expr.Range()), "Bad condition", "%s", syntax.Sentence(err))
	}
	return p
}

// Step returns the step CHECK that tests the condition once.
func (p Probe) Step(limit time.Duration) (step.Step, error) {
	attrs := []step.Attr{{Key: "within", Value: limit.String()}}
	if p.Status != 0 {
		attrs = append(attrs, step.Attr{Key: "status", Value: strconv.Itoa(p.Status)})
	}
	for _, a := range []step.Attr{{Key: "http", Value: p.HTTP}, {Key: "tcp", Value: p.TCP}, {Key: "exec", Value: p.Exec},
		{Key: "unit", Value: p.Unit}, {Key: "file", Value: p.File}, {Key: "contains", Value: p.Contains}} {
		if a.Value != "" {
			attrs = append(attrs, a)
		}
	}
	return step.New(step.Check, []string{"scope"}, attrs...)
}

// Valid reports a condition that no target can test, and a URL with a password, which users with the right read would
// see.
func (p Probe) Valid() error {
	for _, text := range []string{p.HTTP, p.TCP, p.Exec, p.Unit, p.File, p.Contains} {
		if len(text) > maxProbeText {
			return fmt.Errorf("a text has %d bytes, and the maximum is %d", len(text), maxProbeText)
		}
	}
	if p.HTTP != "" {
		if err := CheckURL(p.HTTP); err != nil {
			return err
		}
	}
	_, err := p.Step(time.Second)
	return err
}

// partName returns the name of a check or a task, which must not be in use in the scope.
func (x scopeBlock) partName(b *hclsyntax.Block, used []string) (string, diag.Range, bool) {
	name, r, ok := x.label(b)
	switch {
	case !ok:
	case !lockName().MatchString(name) || len(name) > maxLockName:
		x.Errorf(r, "Bad name for a "+b.Type,
			"%q is not a valid name. Use up to %d letters, digits, _ and -, and begin with a letter.", name, maxLockName)
		ok = false
	case slices.Contains(used, name):
		x.Errorf(r, "Block declared twice", "The scope already has the %s %q. Rename or remove one of the two.", b.Type, name)
		ok = false
	case len(used) == MaxParts:
		x.Errorf(r, "Too many blocks", "A scope can have %d blocks of the type %s.", MaxParts, b.Type)
		ok = false
	}
	return name, r, ok
}

func (x scopeBlock) check(b *hclsyntax.Block, s *Scope) {
	var used []string
	for _, c := range s.Checks {
		used = append(used, c.Name)
	}
	name, r, ok := x.partName(b, used)
	if !ok {
		return
	}
	x.only(b, append(probeAttributes(), "from", "quorum", "every", "timeout", "fail_after", "branches",
		"description"), nil)
	at := b.Body.Attributes
	c := ScopeCheck{Name: name, Range: r, Probe: x.probe(b), Quorum: waitBlock(x).quorum(at["quorum"]),
		Branches: x.boolOf(at, "branches", false),
		Every:    x.between(at["every"], "30s", minEvery, maxEvery), Timeout: x.between(at["timeout"], "10s", 1, maxTestTime),
		FailAfter: x.between(at["fail_after"], "0s", 0, MaxWaitTime)}
	if a := at["from"]; a != nil {
		c.From = &Selector{}
		c.From.Names, c.From.Patterns = x.patterns(a.Expr)
	}
	hub := x.prog.executor(s.Kind) == HubExecutor && c.From == nil
	if q := at["quorum"]; hub && q != nil {
		x.Errorf(syntax.RangeOf(q.NameRange), "Attribute without effect",
			"Only the leading hub tests this check, so it has no quorum. Remove quorum, or set from, the targets that test it.")
	}
	if s.Members == nil && c.From == nil && !hub {
		x.Errorf(r, "Check without targets", `The members of this scope are scopes, which cannot test a condition. `+
			`Set from, the targets that test it: from = ["mon1"].`)
	}
	if a := at["branches"]; a != nil && s.Environment == nil {
		x.Errorf(syntax.RangeOf(a.NameRange), "Attribute without effect",
			"branches has an effect only on a check of an environment.")
	}
	c.Digest = DigestOf(c.Probe)
	s.Checks = append(s.Checks, c)
}

// ValidTimes reports whether the times of a check are within their limits.
func ValidTimes(every, timeout, failAfter int64) bool {
	return every >= minEvery && every <= maxEvery && timeout >= 1 && timeout <= maxTestTime && failAfter >= 0 &&
		failAfter <= MaxWaitTime
}

// after reads references to checks and tasks of the same scope. It adds their places by task and reference.
func (x scopeBlock) after(a *hclsyntax.Attribute, places map[string]diag.Range, task string) (out []string) {
	if a == nil {
		return nil
	}
	exprs, hds := hcl.ExprList(a.Expr)
	x.Add(syntax.FromHCL(hds)...)
	for _, e := range exprs {
		ref, ok := partReference(e)
		if !ok {
			x.Errorf(syntax.RangeOf(e.Range()), "Bad reference",
				"after contains checks and tasks of the same scope: after = [check.formed, task.schema].")
			continue
		}
		out, places[task+" "+ref] = append(out, ref), syntax.RangeOf(e.Range())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// partReference returns check.NAME or task.NAME.
func partReference(e hcl.Expression) (string, bool) {
	t, hds := hcl.AbsTraversalForExpr(e)
	if hds.HasErrors() || len(t) != 2 || t.RootName() != "check" && t.RootName() != "task" {
		return "", false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	return t.RootName() + "." + name.Name, ok
}

// conditions reports references to unknown parts, and cycles of tasks.
func (x scopeBlock) conditions(s *Scope) {
	var known []string
	for _, c := range s.Checks {
		known = append(known, "check."+c.Name)
	}
	after := map[string][]string{}
	for _, t := range s.Tasks {
		known = append(known, "task."+t.Name)
		after["task."+t.Name] = t.After
	}
	var names []string
	for _, t := range s.Tasks {
		names = append(names, "task."+t.Name)
		for _, ref := range t.After {
			if !slices.Contains(known, ref) {
				x.Errorf(s.afters[t.Name+" "+ref], "Unknown condition",
					"The task %q is after %s, which the scope %s does not declare.%s", t.Name, ref, s.ID(), syntax.Near(ref, known))
			}
		}
	}
	if c := Cycle(after, names); c != nil {
		x.Errorf(s.afters[strings.TrimPrefix(c[0], "task.")+" "+c[1]], "Cyclic tasks",
			"Each of these tasks is after the next one: %s. Remove one of the references.", strings.Join(c, " → "))
	}
}

// UnknownEffects are the values of on_unknown. The first is the default for a task with a verify block.
func UnknownEffects() []string { return []string{"verify", "ask", "retry"} }

// Valid reports a task that no block declares.
func (t ScopeTask) Valid() error {
	size := len(t.Command)
	for _, w := range t.Command {
		size += len(w)
	}
	switch {
	case !ValidWait(t.Name, nil):
		return fmt.Errorf("has the name %.80q", t.Name)
	case len(t.Command) == 0 || t.Command[0] == "" || size > maxTaskCommand || len(t.Input) > maxTaskInput:
		return fmt.Errorf("has %d words, and %d bytes of input", len(t.Command), len(t.Input))
	case t.Timeout < 1 || t.Timeout > maxTaskTime || t.RetryAfter < 1 || t.RetryAfter > MaxWaitTime || t.Retries < 0 ||
		t.Retries > maxRetries:
		return fmt.Errorf("has %d retries after %d s, and a timeout of %d s", t.Retries, t.RetryAfter, t.Timeout)
	case !slices.Contains(UnknownEffects(), t.OnUnknown) || t.OnUnknown == "verify" && t.Verify == nil:
		return fmt.Errorf("has the effect %.40q", t.OnUnknown)
	case len(t.Digest) != 2*sha256.Size:
		return fmt.Errorf("has the digest %.80q", t.Digest)
	case len(t.Secrets) > maxTaskSecrets:
		return fmt.Errorf("has %d secrets", len(t.Secrets))
	case t.Undo != nil && (t.Undo.Undo != nil || len(t.Undo.After) > 0):
		return errors.New("has an undo with conditions")
	case t.Verify != nil && t.Verify.Valid() != nil:
		return t.Verify.Valid()
	case t.Undo != nil:
		return t.Undo.Valid()
	}
	return nil
}

// onUnknown returns the effect of a lost attempt. A task without a verify block asks by default.
func (x scopeBlock) onUnknown(a *hclsyntax.Attribute, verify bool) string {
	if a == nil && !verify {
		return "ask"
	}
	text := x.choice(a, UnknownEffects())
	if text == "verify" && !verify {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Nothing to verify",
			`on_unknown = "verify" needs a verify block, whose condition holds exactly if the task is done.`)
	}
	return text
}

// argv reads the command of a task.
func (x scopeBlock) argv(a *hclsyntax.Attribute, r diag.Range) (out []string) {
	if a == nil {
		x.Errorf(r, "Task without a command", `Set command: command = ["/usr/local/bin/import", "templates"].`)
		return nil
	}
	v, hds := a.Expr.Value(x.context())
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || list.IsNull() || !list.IsWhollyKnown() || list.LengthInt() == 0 {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type",
			`command must be a list of words, without a shell: command = ["/usr/local/bin/import", "templates"].`)
		return nil
	}
	size := 0
	for _, w := range list.AsValueSlice() {
		if w.IsNull() || strings.ContainsRune(w.AsString(), 0) || len(out) == 0 && w.AsString() == "" {
			x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad command", "A word of the command is null, empty or has a NUL byte.")
			return nil
		}
		out, size = append(out, w.AsString()), size+len(w.AsString())+1
	}
	if size > maxTaskCommand {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Command too long", "The command of a task can have %d bytes.",
			maxTaskCommand)
	}
	return out
}

// triggers returns any values in a canonical form.
func (x scopeBlock) triggers(a *hclsyntax.Attribute) string {
	if a == nil {
		return ""
	}
	v, hds := a.Expr.Value(x.context())
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return ""
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type",
			"triggers must contain only texts, numbers, lists and objects.")
	}
	return string(text)
}
