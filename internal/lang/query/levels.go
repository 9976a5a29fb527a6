package query

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Levels returns the levels of a target, from low to high: the roles of its groups and its own
// roles, each after the roles it names; its environment, after the parents; its groups in the order of their
// declaration; and the target itself. The levels are read-only.
func Levels(p *source.Program, r *syntax.Reports, t *source.Target) []*source.Level {
	return levelsBy(p, r, r, t, TargetLabels(p, r, t))
}

// levelsBy is like Levels, with the labels of the target. The error of a target in two environments is added to in.
func levelsBy(p *source.Program, r, in *syntax.Reports, t *source.Target, labels map[string]string) []*source.Level {
	if t.Placed.Levels != nil {
		return t.Placed.Levels
	}
	own := &syntax.Reports{}
	e, ds := environmentOf(p, t, labels)
	in.Add(ds...)
	out := slices.Clip(findLevels(p, own, t, e, labels))
	if r.Add(own.List...); len(own.List) == 0 && ds == nil && t.Placed.Labels != nil {
		t.Placed.Levels, t.Placed.Environment = out, e
	}
	return out
}

// EnvironmentOf returns the environment of a target, nil if it belongs to none or to several that do not contain each
// other.
func EnvironmentOf(p *source.Program, t *source.Target, labels map[string]string) *source.Environment {
	if t.Placed.Levels != nil {
		return t.Placed.Environment
	}
	e, _ := environmentOf(p, t, labels)
	return e
}

func findLevels(p *source.Program, r *syntax.Reports, t *source.Target, e *source.Environment,
	labels map[string]string) []*source.Level {
	own := e.Levels()
	inside := len(own)
	for _, g := range p.Groups {
		if g.Matches(t.Name, labels) {
			own = append(own, &g.Level)
		}
	}
	own = append(own, &t.Level)
	w := roleWalk{prog: p, Reports: r, done: map[string]bool{}}
	for _, l := range own[inside:] {
		w.named(l)
	}
	return append(w.out, own...)
}

// roleWalk collects roles, each once.
type roleWalk struct {
	prog *source.Program
	*syntax.Reports
	done map[string]bool
	way  []string
	out  []*source.Level
}

// named adds the roles that a level names.
func (w *roleWalk) named(l *source.Level) {
	for _, n := range w.prog.EarlyNames(w.Reports, l, l.Roles) {
		w.role(n.Text, n.Range)
	}
}

func (w *roleWalk) role(name string, rng diag.Range) {
	l := w.prog.Roles[name]
	if l == nil {
		w.Errorf(rng, "Unknown role", "The repository declares no role %q.%s", name,
			syntax.Suggest(name, syntax.Names(w.prog.Roles)))
		return
	}
	for i, on := range w.way {
		if on == name {
			w.Errorf(rng, "Cyclic roles",
				"The role %q contains itself: %s. "+
					"Remove one of these roles from the roles of another.", name,
				strings.Join(append(w.way[i:len(w.way):len(w.way)], name), " → "))
			return
		}
	}
	if w.done[name] {
		return
	}
	w.done[name] = true
	w.way = append(w.way, name)
	w.named(l)
	w.way = w.way[:len(w.way)-1]
	w.out = append(w.out, l)
}
