package child

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/lang"
)

func writeTargets(w *writer, list []lang.Target) {
	w.int(len(list))
	for _, t := range list {
		w.text(t.Name)
		w.mapping(t.Labels)
		w.texts(t.Roles)
		w.texts(t.Groups)
		w.texts(t.Modules)
		w.rng(t.Range)
		if w.bool(t.SSH != nil); t.SSH != nil {
			w.text(t.SSH.Host)
			w.text(t.SSH.User)
			w.int(t.SSH.Port)
			w.bool(t.SSH.Sudo)
			w.mapping(t.SSH.Options)
		}
	}
}

// readTargets demands names that lead to no target twice, and ways that ssh can be
// given.
func readTargets(r *reader) []lang.Target {
	var out []lang.Target
	seen := map[string]bool{}
	for range r.count(13) {
		t := lang.Target{Name: r.text(), Labels: r.mapping(), Roles: r.texts(), Groups: r.texts(), Modules: r.texts(), Range: r.rng()}
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		if r.bool() {
			t.SSH = &lang.SSH{Host: r.text(), User: r.text(), Port: r.int(), Sudo: r.bool(), Options: r.mapping()}
			if err := t.SSH.Valid(); r.err == nil && err != nil {
				r.fail("the target %q %v", t.Name, err)
			}
		}
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

func (w *writer) mapping(m map[string]string) {
	w.int(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		w.text(m[k])
	}
}

// mapping is nil for one with nothing in it.
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
