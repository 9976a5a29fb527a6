package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/repo"
)

// prepared is a compiled composition of bundles. The agent keeps it, so that later runs, such as
// repairs of drift, need not compile again.
type prepared struct {
	key    string            // contentKey of the composition
	used   []string          // names of the facts that the result depends on
	facts  map[string]string // values of used when the composition was compiled
	req    executor.Request
	owners owners
	// last has the exports and deferred states of the newest compilation. A run that learns outputs
	// of commands compiles again and replaces it.
	last  compile.Result
	close func() error
}

// prepare returns the step list of a composition. It compiles again only if the composition or a
// used fact has changed.
func (r *Runner) prepare(ctx context.Context, run machine.Run) (*prepared, error) {
	facts, err := r.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the facts of this host: %w", err)
	}
	key := contentKey(run.Want, run.Absent)
	if r.has != nil && r.has.key == key && maps.Equal(r.has.facts, texts(facts, r.has.used)) {
		r.has.req.Revision = r.revisionOf(run.Want, r.has.req.Revision.Digest)
		return r.has, nil
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	has, err := r.compile(run, facts)
	if err != nil {
		return nil, err
	}
	has.key = key
	r.has = has
	return has, nil
}

func (r *Runner) compile(run machine.Run, facts map[string]cty.Value) (*prepared, error) {
	want := run.Want
	want.TestsFor = nil // lists do not depend on it
	tree, closing, err := r.Content.Tree(want, run.Absent)
	if err != nil {
		return nil, err
	}
	digest, err := repo.TreeDigest(tree)
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	has := &prepared{close: closing}
	rev := r.revisionOf(run.Want, digest)
	in := compile.Input{Tree: tree, Target: run.Want.Name, Facts: facts, NeedSecrets: true}
	if has.req, has.used, err = r.request(in, rev, has); err != nil {
		return nil, errors.Join(err, closing())
	}
	has.facts = texts(facts, has.used)
	has.owners = ownersOf(has.req.States)
	return has, nil
}

// request compiles a tree. The returned request compiles again during the run if commands print new
// outputs.
func (r *Runner) request(in compile.Input, rev repo.Revision, has *prepared) (executor.Request, []string, error) {
	res, ds := r.Compile(in)
	if err := ds.Err(); err != nil {
		return executor.Request{}, nil, err
	}
	has.last = compile.Result{Exports: res.Exports, Deferred: res.Deferred}
	req := wanted.Request(res, rev)
	addLines(in.Tree, req.States)
	req.Repair = res.Policy.Drift != "report"
	wanted.GoesOn(&req, res.Outputs, res.Deferred, in.Outputs, func(known executor.Known) (executor.Request, error) {
		in.Outputs = known
		again, _, err := r.request(in, rev, has)
		return again, err
	})
	return req, res.FactsUsed, nil
}

// contentKey returns a text that identifies all inputs of a compilation except facts.
func contentKey(a fleet.Assignment, absent []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q", a.Name, a.Fleet, absent)
	for _, k := range slices.Sorted(maps.Keys(a.Labels)) {
		fmt.Fprintf(&b, " %q=%q", k, a.Labels[k])
	}
	fmt.Fprintf(&b, " %q", a.Environment.Text())
	for _, as := range slices.Concat([]fleet.Assigned{a.Root}, a.Modules) {
		fmt.Fprintf(&b, " %q:%s", as.Module, as.Bundle.Digest)
	}
	if len(a.Exported) > 0 {
		b.Write(exported.Text(a.Exported))
	}
	return b.String()
}

// texts returns the values of the named facts as text.
func texts(facts map[string]cty.Value, names []string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		v, ok := facts[name]
		if !ok || v.IsNull() {
			continue
		}
		if v.Type() == cty.String {
			out[name] = v.AsString()
		} else if b, err := ctyjson.Marshal(v, v.Type()); err == nil {
			out[name] = string(b)
		}
	}
	return out
}
