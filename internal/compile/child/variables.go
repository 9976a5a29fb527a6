package child

import (
	"fettle.dev/fettle/internal/lang/eval"
)

func writeVariables(w *writer, list []eval.Explained) {
	w.int(len(list))
	for _, v := range list {
		for _, s := range []string{v.Module, v.Name, v.Type, v.Value} {
			w.text(s)
		}
		w.rng(v.Range)
		w.int(len(v.Layers))
		for _, l := range v.Layers {
			w.text(l.Name)
			w.text(l.Value)
			w.text(l.Merge)
			w.rng(l.Range)
		}
	}
}

func readVariables(r *reader) []eval.Explained {
	var out []eval.Explained
	for range r.count(12) {
		v := eval.Explained{Module: r.text(), Name: r.text(), Type: r.text(), Value: r.text(), Range: r.rng()}
		for range r.count(10) {
			v.Layers = append(v.Layers, eval.Layer{Name: r.text(), Value: r.text(), Merge: r.text(), Range: r.rng()})
		}
		out = append(out, v)
	}
	return out
}
