package child

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
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
		a := query.Action{Name: r.text(), Module: r.text(), Doc: r.text(), Changes: r.bool(), DryRun: r.bool(), JSON: r.bool(), Range: r.rng()}
		for range r.count(13) {
			a.Params = append(a.Params, query.Param{Name: r.text(), Type: r.text(), Doc: r.text(), Required: r.bool(), Secret: r.bool(), Default: r.text(), Range: r.rng()})
		}
		out = append(out, a)
	}
	return out
}

func writeCall(w *writer, r *compile.Repository, q question) {
	call, ds := r.CallAction(q.in, q.name, paramsOf(q.names), len(q.has) > 0)
	w.diags(ds)
	if !ds.HasErrors() {
		writeActions(w, []query.Action{call.Action})
		w.texts(call.Env)
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

func wordsOf(params map[string]string) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(params)) {
		out = append(out, p+"="+params[p])
	}
	return out
}

// document writes descriptions as JSON.
func (w *writer) document(doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		text = nil // texts and numbers can be written
	}
	w.text(string(text))
}

func (r *reader) document(into any) {
	if text := r.bytes(); r.err == nil {
		if err := json.Unmarshal(text, into); err != nil {
			r.fail("a document: %v", err)
		}
	}
}

// Runnable is compile.Repository.Runnable.
func (c *Client) Runnable() (all query.Runnable, ds diag.List, err error) {
	r, err := c.ask(question{ask: askRunnable})
	if err != nil {
		return all, nil, err
	}
	ds = r.diags()
	r.document(&all)
	return all, ds, r.end()
}

// CallCommand is compile.Repository.CallCommand.
func (c *Client) CallCommand(name string, params map[string]string) (parts []query.Part, ds diag.List, err error) {
	r, err := c.ask(question{ask: askCommand, name: name, names: wordsOf(params)})
	if err != nil {
		return nil, nil, err
	}
	ds = r.diags()
	r.document(&parts)
	return parts, ds, r.end()
}

// CallAction is compile.Repository.CallAction.
func (c *Client) CallAction(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List, error) {
	q := question{ask: askAction, in: in, name: name, names: wordsOf(params)}
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
	call.Env = r.texts()
	call.Result = readResult(r, c.tree)
	if err := r.end(); err != nil {
		return call, nil, err
	}
	call.Result.Secrets, err = c.secrets.bundle(call.Result.List)
	return call, ds, err
}
