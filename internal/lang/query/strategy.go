package query

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Strategy describes how a change reaches targets in waves.
type Strategy struct {
	Name  string
	Waves []StrategyWave // at least one
	// MaxFailed, MaxSilent, MinReady and MinCoverage are a number, or a percentage such as "2%".
	MaxFailed, MaxSilent, MinReady, MinCoverage string
	// MinReadyTime, ProgressDeadline, SilentAfter and WaveTimeout are seconds.
	MinReadyTime, ProgressDeadline, SilentAfter, WaveTimeout int64
	OnBreach                                                 string // pause, abort or rollback
	Afters                                                   []StrategyAfter
	// SpreadLabel is the label of failure domains, of which SpreadMax targets may be unavailable; "" means no limit.
	SpreadLabel string
	SpreadMax   int
	Rate        int // grants in a minute; 0 means no limit
}

// StrategyWave is one wave of a Strategy.
type StrategyWave struct {
	Name string
	// Selected are the names of the targets that the wave selects, sorted. It is nil if All is set.
	Selected []string
	All      bool
	// Size and MaxUnavailable are a number, or a percentage such as "10%". Size is "" for all targets
	// that are left.
	Size, MaxUnavailable string
	Bake                 int64 // seconds
	Gates                []source.Gate
}

// Strategies returns the strategies that the repository declares, in the order of declaration. The
// list is nil if a label of a target has an error.
func Strategies(p *source.Program) ([]Strategy, diag.List) {
	r := &syntax.Reports{}
	labels := map[string]map[string]string{} // by target
	for _, t := range p.Targets {
		labels[t.Name] = TargetLabels(p, r, t)
	}
	if !p.HasTargets() {
		labels[LocalTarget] = nil
	}
	var out []Strategy
	for _, s := range p.Strategies {
		x := strategy(s, labels)
		for _, a := range s.Afters {
			x.Afters = append(x.Afters, after(p, r, a, labels))
		}
		out = append(out, x)
	}
	dependences(p, r)
	if r.List.HasErrors() {
		out = nil
	}
	return out, source.Finish(p, r.List)
}

func strategy(s *source.Strategy, labels map[string]map[string]string) Strategy {
	out := Strategy{Name: s.Name, OnBreach: s.OnBreach,
		MaxFailed: s.Amounts["max_failed"], MaxSilent: s.Amounts["max_silent"],
		MinReady: s.Amounts["min_ready"], MinCoverage: s.Amounts["min_coverage"],
		MinReadyTime: s.Times["min_ready_time"], ProgressDeadline: s.Times["progress_deadline"],
		SilentAfter: s.Times["silent_after"], WaveTimeout: s.Times["wave_timeout"],
		SpreadLabel: s.Spread.Label, SpreadMax: s.Spread.Max, Rate: s.Rate}
	for _, w := range s.Waves {
		x := StrategyWave{Name: w.Name, All: w.Selector == nil, Size: w.Size, MaxUnavailable: w.MaxUnavailable, Bake: w.Bake,
			Gates: w.Gates}
		for _, name := range syntax.SortedNames(labels) {
			if !x.All && w.Selector.Matches(name, labels[name]) {
				x.Selected = append(x.Selected, name)
			}
		}
		out.Waves = append(out.Waves, x)
	}
	return out
}

// Valid reports an error in a Strategy that another process made.
func (s Strategy) Valid() error {
	amounts := []string{s.MaxFailed, s.MaxSilent, s.MinReady, s.MinCoverage}
	times := []int64{s.MinReadyTime, s.ProgressDeadline, s.SilentAfter, s.WaveTimeout}
	names := map[string]bool{"": true}
	for _, w := range s.Waves {
		if names[w.Name] || w.All && len(w.Selected) > 0 || !slices.IsSorted(w.Selected) {
			return fmt.Errorf("has the wave %q", w.Name)
		}
		names[w.Name] = true
		for _, g := range w.Gates {
			if err := g.Valid(); err != nil {
				return fmt.Errorf("has the gate %q: %w", g.Name, err)
			}
		}
		amounts, times = append(amounts, w.MaxUnavailable), append(times, w.Bake)
		if w.Size != "" {
			amounts = append(amounts, w.Size)
		}
	}
	for _, a := range s.Afters {
		if len(a.Modules) == 0 || !slices.IsSorted(a.Targets) {
			return fmt.Errorf("waits for %q", a.Module)
		}
		amounts = append(amounts, a.Ready)
	}
	for _, a := range amounts {
		if _, err := amount.Parse(a); err != nil {
			return fmt.Errorf("has an amount: %w", err)
		}
	}
	if s.Name == "" || len(s.Waves) == 0 || slices.Min(times) < 0 ||
		s.Rate < 0 || (s.SpreadLabel != "") != (s.SpreadMax > 0) ||
		!slices.Contains(source.BreachReactions(), s.OnBreach) {
		return fmt.Errorf("is not complete")
	}
	return nil
}

// strategyOf returns the name of the strategy that policies give a target with these levels, or the
// default. Policy describes the order.
func strategyOf(p *source.Program, r *syntax.Reports, levels []*source.Level) (name string) {
	name = source.DefaultStrategy
	for _, l := range append([]*source.Level{&p.Top}, levels...) {
		if l.Policy != nil && l.Policy.Body.Attributes["rollout"] != nil {
			name = strategyName(p, r, l, l.Policy.Body.Attributes["rollout"])
		}
	}
	return name
}

// strategyName reads the name of a strategy that exists.
func strategyName(p *source.Program, r *syntax.Reports, l *source.Level, a *hclsyntax.Attribute) string {
	v, ok := p.EarlyIn(r, l, a.Expr, cty.String)
	if !ok {
		return ""
	}
	name := v.AsString()
	if builtin := source.BuiltinStrategies(); !slices.Contains(builtin, name) && p.Strategy(name) == nil {
		names := builtin
		for _, s := range p.Strategies {
			names = append(names, s.Name)
		}
		r.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown rollout",
			"The repository declares no rollout %q.%s", name, syntax.Suggest(name, names))
	}
	return name
}
