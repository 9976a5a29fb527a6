package agent

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// owners maps each address to the directory of its module.
type owners map[addr.Addr]string

func ownersOf(states []executor.StateRef) owners {
	out := owners{}
	for _, s := range states {
		for _, a := range s.Addrs {
			out[a] = repo.ModuleOf(s.Source)
		}
	}
	return out
}

func (o owners) of(a addr.Addr, source string) string {
	if m, ok := o[a]; ok {
		return m
	}
	return repo.ModuleOf(source)
}

// waits records, for each module, the values of other targets that it waits for.
func (p *prepared) waits(parts map[string]machine.Part) {
	for _, h := range p.last.Deferred {
		name := repo.ModuleOf(h.Range.File)
		if part := parts[name]; h.WaitsFor != "" && part.Waits == "" {
			part.Waits = h.WaitsFor
			parts[name] = part
		}
	}
}

// driftOf counts the drifted addresses of each module, and returns the first of them.
func (o owners) driftOf(p *plan.Plan) (byModule map[string]int, first string) {
	byModule = map[string]int{}
	for _, c := range p.Changes {
		if c.Drifted || c.Action == plan.Repair || c.Action == plan.Drift {
			byModule[o.of(c.Addr, c.Source)]++
			if first == "" {
				first = c.Addr.String()
			}
		}
	}
	return byModule, first
}

// ended returns the outcome of a run with the plan p. The report can be nil.
func (o owners) ended(ctx context.Context, p *plan.Plan, rep *executor.Report, err error) machine.Outcome {
	out := machine.Outcome{Result: resultOf(ctx, rep, err), Parts: map[string]machine.Part{}}
	if err != nil {
		out.Error = err.Error()
	}
	if rep != nil {
		out.Run, out.Changes = rep.Run, rep.Changed
		if rep.Run > 0 {
			out.Duration = rep.Duration
		}
		o.blame(out.Parts, rep)
	}
	if out.Error == "" && out.Result != machine.Done {
		out.Error = fmt.Sprintf("the run was %s", out.Result)
	}
	for _, c := range p.Changes {
		name := o.of(c.Addr, c.Source)
		part := out.Parts[name]
		switch {
		case c.Action == plan.Drift:
			part.Drift++
		case (c.Drifted || c.Action == plan.Repair) && out.Result == machine.Done:
			out.Repaired++
		}
		out.Parts[name] = part
	}
	return out
}

// blame records the first error of each module, and the number of its addresses that were not
// reached.
func (o owners) blame(parts map[string]machine.Part, rep *executor.Report) {
	wrong := func(a addr.Addr, source, text string) {
		name := o.of(a, source)
		part := parts[name]
		if part.Error == "" {
			part.Error = fmt.Sprintf("%s: %s", a, text)
		}
		parts[name] = part
	}
	for _, f := range append(rep.Rescued, rep.Failed) {
		if f != nil {
			wrong(f.Addr, f.Source, f.Error)
		}
	}
	for _, c := range rep.Checks {
		if !c.OK {
			wrong(c.Addr, c.Source, c.Error)
		}
	}
	for _, a := range rep.Remaining {
		name := o.of(a, "")
		part := parts[name]
		part.Left++
		parts[name] = part
	}
}

// resultOf returns how a run ended, for the state machine.
func resultOf(ctx context.Context, rep *executor.Report, err error) machine.Result {
	switch {
	case ctx.Err() != nil:
		return machine.Stopped
	case errors.Is(err, executor.ErrLocked):
		return machine.Locked
	case errors.Is(err, executor.ErrNoSlot) && (rep == nil || rep.Run == 0):
		return machine.Locked // nothing failed: many targets can wait for a lock longer than one run does
	case errors.Is(err, executor.ErrFrozen):
		return machine.Frozen
	case errors.Is(err, executor.ErrUndone) || rep != nil && rep.Outcome == journal.RolledBack:
		return machine.RolledBack
	case errors.Is(err, executor.ErrCheckFailed) || rep != nil && rep.Outcome == journal.CheckFailed:
		return machine.CheckFailed
	case err != nil || rep == nil || rep.Outcome != journal.Succeeded:
		return machine.Failed
	}
	return machine.Done
}

// broken is the outcome for a target whose step list could not be made.
func broken(err error) machine.Outcome {
	out := machine.Outcome{Result: machine.Broken, Error: err.Error(), Parts: map[string]machine.Part{}}
	var list *diag.ListError
	if !errors.As(err, &list) {
		out.Parts[""] = machine.Part{Error: err.Error()}
		return out
	}
	for _, d := range list.List {
		if name := repo.ModuleOf(d.Range.File); d.Severity == diag.Error && out.Parts[name].Error == "" {
			out.Parts[name] = machine.Part{Error: d.String()}
		}
	}
	return out
}
