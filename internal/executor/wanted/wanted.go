// Package wanted converts results of the compiler to requests for executors. The command
// line and agents use it.
//
//	req := wanted.Request(result, revision)
//	wanted.GoesOn(&req, result.Outputs, result.Held, in.Outputs, again)
//	report, err := x.Apply(ctx, req, nil, options, nil)
package wanted

import (
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/repo"
)

// Request is the request for a list that was compiled at a revision. It shares the
// result's memory.
func Request(res compile.Result, rev repo.Revision) executor.Request {
	return executor.Request{Target: res.Target, Policy: res.Policy, Revision: rev, List: res.List, Blobs: res.Blobs,
		States: States(res), Secrets: res.Secrets, Repair: true}
}

// States returns, for each state, the addresses that it wrote in the list.
func States(res compile.Result) []executor.StateRef {
	var out []executor.StateRef
	for _, st := range res.States {
		ref := executor.StateRef{ID: st.ID, Source: fmt.Sprintf("%s:%d", st.Range.File, st.Range.Start.Line), After: st.After}
		seen := map[addr.Addr]bool{}
		for _, i := range st.Steps {
			a := res.List[i].Addr()
			if !seen[a] {
				seen[a] = true
				ref.Addrs = append(ref.Addrs, a)
			}
			if k := res.List[i].Phase(); k > 1 {
				if ref.Phases == nil {
					ref.Phases = map[addr.Addr]int{}
				}
				ref.Phases[a] = k
			}
		}
		out = append(out, ref)
	}
	return out
}

// GoesOn adds to a request what it was made with of the outputs of commands, and how to
// make it with others: again compiles once more. Without outputs there are only
// states that wait for other targets.
func GoesOn(req *executor.Request, outputs []compile.Output, held []compile.Deferred, known executor.Known,
	again func(executor.Known) (executor.Request, error)) {
	for _, h := range held {
		req.Deferred = append(req.Deferred, executor.Deferred{ID: h.ID,
			Source: fmt.Sprintf("%s:%d", h.Range.File, h.Range.Start.Line), Addr: h.Addr, Needs: h.Needs, WaitsFor: h.WaitsFor})
	}
	if len(outputs) == 0 {
		return
	}
	req.Known, req.Outputs = known, make([]executor.OutputRef, len(outputs))
	for i, o := range outputs {
		req.Outputs[i] = executor.OutputRef{Addr: o.Addr, Step: o.Step}
	}
	req.Next = again
}
