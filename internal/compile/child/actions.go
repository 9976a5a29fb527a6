package child

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang"
)

func writeActions(w *writer, list []lang.Action) {
	w.int(len(list))
	for _, a := range list {
		w.text(a.Name)
		w.text(a.Module)
		w.text(a.Doc)
		w.bool(a.Changes)
		w.bool(a.DryRun)
		w.rng(a.Range)
		w.int(len(a.Params))
		for _, p := range a.Params {
			w.text(p.Name)
			w.text(p.Type)
			w.text(p.Doc)
			w.bool(p.Required)
			w.text(p.Default)
		}
	}
}

func readActions(r *reader) []lang.Action {
	var out []lang.Action
	for range r.count(12) {
		a := lang.Action{Name: r.text(), Module: r.text(), Doc: r.text(), Changes: r.bool(), DryRun: r.bool(), Range: r.rng()}
		for range r.count(5) {
			a.Params = append(a.Params, lang.Param{Name: r.text(), Type: r.text(), Doc: r.text(), Required: r.bool(), Default: r.text()})
		}
		out = append(out, a)
	}
	return out
}

func writeCall(w *writer, r *compile.Repository, q question) {
	call, ds := r.CallAction(q.in, q.name, paramsOf(q.names), len(q.has) > 0)
	w.diags(ds)
	if !ds.HasErrors() {
		writeActions(w, []lang.Action{call.Action})
		writeResult(w, call.Result)
	}
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

// Actions is compile.Repository.Actions.
func (c *Client) Actions(in compile.Input) ([]lang.Action, diag.List, error) {
	r, err := c.ask(question{ask: askActions, in: in})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readActions(r)
	return list, ds, r.end()
}

// CallAction is compile.Repository.CallAction.
func (c *Client) CallAction(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List, error) {
	q := question{ask: askAction, in: in, name: name}
	for _, p := range slices.Sorted(maps.Keys(params)) {
		q.names = append(q.names, p+"="+params[p])
	}
	if dry {
		q.has = []byte{1}
	}
	var call compile.ActionCall
	c.secrets.must = in.NeedSecrets
	r, err := c.ask(q)
	c.secrets.must = false
	if err != nil {
		return call, nil, err
	}
	ds := r.diags()
	if ds.HasErrors() {
		return call, ds, r.end()
	}
	if list := readActions(r); len(list) == 1 {
		call.Action = list[0]
	} else {
		return call, nil, nonsense("%d actions for one call", len(list))
	}
	call.Result = readResult(r, c.tree)
	if err := r.end(); err != nil {
		return call, nil, err
	}
	call.Result.Secrets, err = c.secrets.bundle(call.Result.List)
	return call, ds, err
}
