package child

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

func writeActions(w *writer, list []query.Action) {
	w.int(len(list))
	for _, a := range list {
		w.text(a.Name)
		w.text(a.Module)
		w.text(a.Doc)
		w.bool(a.Changes)
		w.bool(a.DryRun)
		w.bool(a.JSON)
		w.rng(a.Range)
		w.int(len(a.Params))
		for _, p := range a.Params {
			w.text(p.Name)
			w.text(p.Type)
			w.text(p.Doc)
			w.bool(p.Required)
			w.bool(p.Secret)
			w.text(p.Default)
			w.rng(p.Range)
		}
	}
}

func readActions(r *reader) []query.Action {
	var out []query.Action
	for range r.count(13) {
		a := query.Action{Name: r.text(), Module: r.text(), Doc: r.text(), Changes: r.bool(), DryRun: r.bool(),
			JSON: r.bool(), Range: r.rng()}
		for range r.count(13) {
			a.Params = append(a.Params, query.Param{Name: r.text(), Type: r.text(), Doc: r.text(), Required: r.bool(),
				Secret: r.bool(), Default: r.text(), Range: r.rng()})
		}
		out = append(out, a)
	}
	return out
}

func encodeCall(q compile.ActionQuery) question {
	out := question{in: q.Input, name: q.Name, names: wordsOf(q.Params)}
	if q.DryRun {
		out.has = []byte{1}
	}
	return out
}

func serveCall(r *compile.Repository, q question) (compile.ActionCall, diag.List) {
	return r.CallAction(q.in, q.name, paramsOf(q.names), len(q.has) > 0)
}

func writeCall(w *writer, call compile.ActionCall) {
	writeActions(w, []query.Action{call.Action})
	w.texts(call.Env)
	w.texts(call.Locks)
	writeResult(w, call.Result)
}

func readCall(r *reader, tree repo.Tree) (call compile.ActionCall) {
	list := readActions(r)
	if len(list) != 1 {
		r.fail("%d actions for one call", len(list))
		return call
	}
	call.Action, call.Env, call.Locks = list[0], r.texts(), r.texts()
	call.Result = readResult(r, tree)
	return call
}

// paramsOf reads parameters as NAME=VALUE.
func paramsOf(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		out[name] = value
	}
	return out
}

func wordsOf(params map[string]string) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(params)) {
		out = append(out, p+"="+params[p])
	}
	return out
}
