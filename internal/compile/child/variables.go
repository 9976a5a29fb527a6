package child

import "fettle.dev/fettle/internal/lang"

func writeVariables(w *writer, list []lang.Explained) {
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

func readVariables(r *reader) []lang.Explained {
	var out []lang.Explained
	for range r.count(12) {
		v := lang.Explained{Module: r.text(), Name: r.text(), Type: r.text(), Value: r.text(), Range: r.rng()}
		for range r.count(10) {
			v.Layers = append(v.Layers, lang.Layer{Name: r.text(), Value: r.text(), Merge: r.text(), Range: r.rng()})
		}
		out = append(out, v)
	}
	return out
}
