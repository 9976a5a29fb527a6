package source

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
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
