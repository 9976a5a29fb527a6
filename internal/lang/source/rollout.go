package source

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/window"
)

// BuiltinStrategies are the names of the strategies that need no block.
func BuiltinStrategies() []string { return []string{"at-once", DefaultStrategy} }

// DefaultStrategy is the strategy of targets for which no policy names one.
const DefaultStrategy = "careful"

// BreachReactions are the values of on_breach.
func BreachReactions() []string { return []string{"pause", "abort", "rollback"} }

// strategySetting is an attribute with the value that counts if it is absent.
type strategySetting struct{ name, absent string }

func strategyAmounts() []strategySetting {
	return []strategySetting{{"max_failed", "0"}, {"max_silent", "2%"}, {"min_ready", "95%"}, {"min_coverage", "50%"}}
}

func strategyTimes() []strategySetting {
	return []strategySetting{{"min_ready_time", "10s"}, {"progress_deadline", "15m"}, {"silent_after", "5m"},
		{"wave_timeout", "24h"}}
}

func strategyAttributes() []string {
	out := []string{"on_breach", "description", "spread", "rate"}
	for _, s := range slices.Concat(strategyAmounts(), strategyTimes()) {
		out = append(out, s.name)
	}
	return out
}

// Strategy returns the declared strategy with a name, or nil.
func (p *Program) Strategy(name string) *Strategy {
	i := slices.IndexFunc(p.Strategies, func(s *Strategy) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return p.Strategies[i]
}

// rolloutBlock reads one rollout block. Its values are evaluated before any target is known.
type rolloutBlock struct {
	*parser
	out *Strategy
}

// read adds the strategy to the program.
func (x rolloutBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, strategyAttributes(), []string{"wave", "after"})
	if !x.named(name, r) {
		return
	}
	x.out.Name, x.out.Range = name, r
	x.settings(b.Body.Attributes)
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "wave":
			x.wave(sub)
		case "after":
			x.after(sub)
		}
	}
	if len(x.out.Waves) == 0 {
		x.Errorf(r, "Rollout without a wave", `Add a wave. A wave with all targets is: wave "all" {}.`)
		return
	}
	x.prog.Strategies = append(x.prog.Strategies, x.out)
}

// named reports whether the name can be used.
func (x rolloutBlock) named(name string, r diag.Range) bool {
	switch old := x.prog.Strategy(name); {
	case !hclsyntax.ValidIdentifier(name):
		x.Errorf(r, "Bad name for a rollout",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
	case slices.Contains(BuiltinStrategies(), name):
		x.Errorf(r, "Rollout exists already", "%q is a built-in strategy. Choose a different name.", name)
	case old != nil:
		x.Errorf(r, "Rollout declared twice", "The rollout %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
	default:
		return true
	}
	return false
}

func (x rolloutBlock) settings(at hclsyntax.Attributes) {
	x.out.Amounts, x.out.Times = map[string]string{}, map[string]int64{}
	for _, a := range strategyAmounts() {
		x.out.Amounts[a.name] = x.amount(at[a.name], a.absent, false)
	}
	for _, a := range strategyTimes() {
		x.out.Times[a.name] = x.seconds(at[a.name], a.absent, a.name != "min_ready_time")
	}
	x.out.OnBreach = x.reaction(at["on_breach"])
	x.out.Spread = x.spread(at["spread"])
	if a := at["rate"]; a != nil {
		x.out.Rate = x.whole(a)
	}
}

func (x rolloutBlock) wave(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"targets", "labels", "size", "max_unavailable", "bake", "description"}, gateTypes())
	if !x.waveNamed(name, r) {
		return
	}
	at := b.Body.Attributes
	w := &Wave{Name: name, Range: r, Size: x.amount(at["size"], "", true),
		MaxUnavailable: x.amount(at["max_unavailable"], "25%", true), Bake: x.seconds(at["bake"], "0s", false)}
	if at["targets"] != nil || at["labels"] != nil {
		sel := x.targetSelector(at)
		w.Selector = &sel
	}
	for _, sub := range b.Body.Blocks {
		if slices.Contains(gateTypes(), sub.Type) {
			gateBlock{x, w}.read(sub)
		}
	}
	x.out.Waves = append(x.out.Waves, w)
}

// waveNamed also reports a wave without a possible member.
func (x rolloutBlock) waveNamed(name string, r diag.Range) bool {
	if !hclsyntax.ValidIdentifier(name) {
		x.Errorf(r, "Bad name for a wave",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return false
	}
	for _, old := range x.out.Waves {
		switch {
		case old.Name == name:
			x.Errorf(r, "Wave declared twice", "The wave %q is already declared at %s. Rename or remove one of the two.",
				name, old.Range)
			return false
		case old.Size == "" && old.Selector == nil:
			x.Errorf(r, "Wave without members",
				"The wave %q can never have a member: the wave %q at %s takes all remaining targets. "+
					"Set size in that wave, or make it the last wave.", name, old.Name, old.Range)
			return false
		}
	}
	return true
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

func (x rolloutBlock) reaction(a *hclsyntax.Attribute) string {
	if a == nil {
		return "rollback"
	}
	text, ok := x.scalar(a, "one of "+strings.Join(BreachReactions(), ", "))
	if ok && !slices.Contains(BreachReactions(), text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(BreachReactions(), ", "), text, syntax.Near(text, BreachReactions()))
	}
	return text
}

// scalar returns a string or a number as text. want describes the value in an error.
func (x rolloutBlock) scalar(a *hclsyntax.Attribute, want string) (string, bool) {
	v, hds := a.Expr.Value(x.prog.Pure)
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

func (x rolloutBlock) after(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"modules", "targets", "labels", "ready", "description"}, nil)
	at := b.Body.Attributes
	if slices.ContainsFunc(x.out.Afters, func(a *After) bool { return a.Module == name }) {
		x.Errorf(r, "Dependence declared twice",
			"The rollout %q already has an after block for %q. Combine the two blocks.", x.out.Name, name)
		return
	}
	if at["modules"] == nil || at["targets"] == nil && at["labels"] == nil {
		x.Errorf(r, "Incomplete dependence",
			`Set modules = ["web"], the modules that wait, and targets or labels, which select the targets on which %q `+
				"must be ready.", name)
		return
	}
	x.out.Afters = append(x.out.Afters, &After{Module: name, Modules: x.names(at["modules"]),
		Selector: x.targetSelector(at), Ready: x.amount(at["ready"], "100%", true), Range: r})
}

// names returns a list of names, which must not be empty.
func (x rolloutBlock) names(a *hclsyntax.Attribute) (out []string) {
	exprs, hds := hcl.ExprList(a.Expr)
	x.Add(syntax.FromHCL(hds)...)
	for _, e := range exprs {
		if v, ok := x.prog.Early(&x.Reports, e.(hclsyntax.Expression), cty.String); ok {
			out = append(out, v.AsString())
		}
	}
	if len(exprs) == 0 && !hds.HasErrors() {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Empty list", "%s must contain at least one name.", a.Name)
	}
	return out
}

// Window returns the declared window with a name, or nil.
func (p *Program) Window(name string) *Window {
	i := slices.IndexFunc(p.Windows, func(w *Window) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return p.Windows[i]
}

// WindowEffects are the values of changes in a window block.
func WindowEffects() []string { return []string{"allow", "deny"} }

// windowBlock reads one window block. Its values are evaluated before any target is known.
type windowBlock struct{ rolloutBlock }

// read adds the window to the program.
func (x windowBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"schedule", "duration", "zone", "changes", "description"}, nil)
	if !x.windowNamed(name, r) {
		return
	}
	w := &Window{Range: r}
	w.Name, w.Zone = name, "UTC"
	at := b.Body.Attributes
	for _, needed := range []string{"schedule", "duration"} {
		if at[needed] == nil {
			x.Errorf(r, "Missing attribute", "The window %q has no %s. Set it.", name, needed)
		}
	}
	x.checked(at["schedule"], `a schedule such as "0 2 * * *"`, &w.Schedule, window.CheckSchedule)
	x.checked(at["zone"], `a zone such as "Europe/Berlin"`, &w.Zone, func(text string) error {
		_, err := window.Zone(text)
		return err
	})
	w.Seconds = x.length(at["duration"])
	w.Deny = x.denies(at["changes"])
	x.prog.Windows = append(x.prog.Windows, w)
}

// windowNamed reports whether the name can be used.
func (x windowBlock) windowNamed(name string, r diag.Range) bool {
	old := x.prog.Window(name)
	switch {
	case !hclsyntax.ValidIdentifier(name):
		x.Errorf(r, "Bad name for a window",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
	case old != nil:
		x.Errorf(r, "Window declared twice", "The window %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
	default:
		return true
	}
	return false
}

// checked stores the text of an attribute, if there is one.
func (x windowBlock) checked(a *hclsyntax.Attribute, want string, into *string, check func(string) error) {
	if a == nil {
		return
	}
	text, ok := x.scalar(a, want)
	if !ok {
		return
	}
	if err := check(text); err != nil {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid window", "%s: %v.", a.Name, err)
	}
	*into = text
}

// length returns the duration of a window in seconds.
func (x windowBlock) length(a *hclsyntax.Attribute) int64 {
	if a == nil {
		return 0
	}
	before := len(x.List)
	n := x.seconds(a, "", true)
	if len(x.List) == before && (n < window.MinSeconds || n > window.MaxSeconds) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid window", "duration must be from 5m to 31d.")
	}
	return n
}

func (x windowBlock) denies(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	text, ok := x.scalar(a, "one of "+strings.Join(WindowEffects(), ", "))
	if ok && !slices.Contains(WindowEffects(), text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(WindowEffects(), ", "), text, syntax.Near(text, WindowEffects()))
	}
	return text == "deny"
}
