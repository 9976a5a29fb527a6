package child

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/window"
)

// writeTargets writes targets. Modules that several targets share are written once.
func writeTargets(w *writer, list []query.Target) {
	numbers := map[*query.Use]int{} // by the first one; 0 is for no modules
	var shared [][]query.Use
	for _, t := range list {
		if len(t.Uses) > 0 && numbers[&t.Uses[0]] == 0 {
			shared = append(shared, t.Uses)
			numbers[&t.Uses[0]] = len(shared)
		}
	}
	w.int(len(shared))
	for _, uses := range shared {
		w.uses(uses)
	}
	w.int(len(list))
	for _, t := range list {
		w.text(t.Name)
		w.mapping(t.Labels)
		w.texts(t.Roles)
		w.texts(t.Groups)
		w.text(t.Environment)
		number := 0
		if len(t.Uses) > 0 {
			number = numbers[&t.Uses[0]]
		}
		w.int(number)
		w.texts(t.Errors)
		w.bool(t.Enrolled)
		w.bool(t.Declared)
		w.rng(t.Range)
		w.text(t.Strategy)
		w.windows(t.Windows)
		if w.bool(t.SSH != nil); t.SSH != nil {
			w.text(t.SSH.Host)
			w.text(t.SSH.User)
			w.int(t.SSH.Port)
			w.bool(t.SSH.Sudo)
			w.mapping(t.SSH.Options)
		}
		w.element(t.Element)
	}
}

func (w *writer) element(e *query.Element) {
	if w.bool(e != nil); e != nil {
		w.text(e.Block)
		w.text(e.Key)
		w.text(e.Value)
		w.rng(e.Range)
	}
}

func (r *reader) element() *query.Element {
	if !r.bool() {
		return nil
	}
	return &query.Element{Block: r.text(), Key: r.text(), Value: r.text(), Range: r.rng()}
}

func (w *writer) uses(list []query.Use) {
	w.int(len(list))
	for _, u := range list {
		w.text(u.Name)
		w.text(u.Directory)
		w.text(u.Version)
		w.int(len(u.From))
		for _, g := range u.From {
			w.text(g.By)
			w.rng(g.Range)
		}
		w.int(len(u.Needs))
		for _, n := range u.Needs {
			w.text(n.Name)
			w.text(n.Directory)
			w.text(n.Level)
			w.text(n.Version)
			w.bool(n.Layer)
			w.text(n.By)
			w.rng(n.Range)
		}
		w.exports(u)
		w.element(u.Element)
	}
}

// modules reads the shared modules of targets, with their directories.
type modules struct {
	uses        []query.Use
	directories []string
}

// readTargets checks that target names are unique and that ssh settings are valid. It shares again
// the slices that targets share, so that reading does not enlarge an answer.
func readTargets(r *reader) []query.Target {
	shared := []modules{{}}
	for range r.count(1) {
		shared = append(shared, r.uses())
	}
	var out []query.Target
	seen := map[string]bool{}
	for range r.count(19) {
		t := query.Target{Name: r.text(), Labels: r.mapping(), Roles: r.texts(), Groups: r.texts(),
			Environment: r.text()}
		number := r.int()
		if number >= len(shared) {
			r.fail("the modules %d of %d", number, len(shared)-1)
			return nil
		}
		t.Uses, t.Modules = shared[number].uses, shared[number].directories
		t.Errors, t.Enrolled, t.Declared, t.Range = r.texts(), r.bool(), r.bool(), r.rng()
		t.Strategy, t.Windows = r.text(), r.windows()
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		if r.bool() {
			t.SSH = &query.SSH{Host: r.text(), User: r.text(), Port: r.int(), Sudo: r.bool(), Options: r.mapping()}
			if err := t.SSH.Valid(); r.err == nil && err != nil {
				r.fail("the target %q %v", t.Name, err)
			}
		}
		t.Element = r.element()
		if seen[t.Name] {
			r.fail("the target %q twice", t.Name)
		}
		if r.err != nil {
			return nil
		}
		seen[t.Name] = true
		out = append(out, t)
	}
	return out
}

func (r *reader) uses() modules {
	var out modules
	for range r.count(7) {
		u := query.Use{Name: r.text(), Directory: r.text(), Version: r.text()}
		for range r.count(8) {
			u.From = append(u.From, source.Given{By: r.text(), Range: r.rng()})
		}
		for range r.count(13) {
			n := query.Need{Name: r.text(), Directory: r.text(), Level: r.text(), Version: r.text(), Layer: r.bool(),
				By: r.text(), Range: r.rng()}
			if r.err == nil && !slices.Contains(source.NeedLevels(), n.Level) {
				r.fail("the level %q", n.Level)
			}
			u.Needs = append(u.Needs, n)
		}
		r.exports(&u)
		u.Element = r.element()
		if r.err != nil {
			return modules{}
		}
		out.uses, out.directories = append(out.uses, u), append(out.directories, u.Directory)
	}
	return out
}

func (w *writer) windows(list []window.Window) {
	w.int(len(list))
	for _, x := range list {
		w.text(x.Name)
		w.text(x.Schedule)
		w.int(int(x.Seconds))
		w.text(x.Zone)
		w.bool(x.Deny)
	}
}

// windows checks that the windows are valid.
func (r *reader) windows() []window.Window {
	var out []window.Window
	for range r.count(5) {
		out = append(out, window.Window{Name: r.text(), Schedule: r.text(), Seconds: int64(r.int()), Zone: r.text(),
			Deny: r.bool()})
	}
	if err := window.Check(out); r.err == nil && err != nil {
		r.fail("windows: %v", err)
	}
	if r.err != nil {
		return nil
	}
	return out
}

func (w *writer) mapping(m map[string]string) {
	w.int(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		w.text(m[k])
	}
}

// mapping returns nil instead of an empty map.
func (r *reader) mapping() map[string]string {
	var out map[string]string
	for range r.count(2) {
		if out == nil {
			out = map[string]string{}
		}
		k := r.text()
		out[k] = r.text()
	}
	return out
}
