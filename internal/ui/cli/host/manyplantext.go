package host

import (
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// outcomeOfPlan is the outcome of planning.
func outcomeOfPlan(cr *cli.TargetSet, p *plan.Plan, warning string, v viewFlags) round.Outcome {
	var b strings.Builder
	st := cr.Session.Style()
	if len(p.Changes) > 0 {
		st.PlanBody(&b, p, v.options(cr.Session.Printer))
	}
	if warning != "" {
		b.WriteString("\n" + warning + "\n")
	}
	o := round.Outcome{Status: fanout.OK, Line: render.Style{}.Summary(p), Body: b.String(),
		Doc: rundoc.PlanOf(rundoc.PlanFormat, p),
		Err: changesIn(p), Notes: p.Notes}
	if o.Err != nil {
		o.Status = fanout.Changed
	} else {
		o.Body = ""
	}
	return o
}

func planWords() map[fanout.Status]string {
	return map[fanout.Status]string{fanout.OK: "in sync", fanout.Changed: "with changes"}
}

// outcomeOfRun is the outcome of a run.
func outcomeOfRun(cr *cli.TargetSet, verb string, rep *executor.Report, p *plan.Plan, err error) round.Outcome {
	err = outcomeError(rep, err)
	if rep == nil {
		return cli.Failed(err)
	}
	var b strings.Builder
	cr.Session.Style().GroupReport(&b, verb, rep)
	o := round.Outcome{Status: fanout.OK, Line: render.Style{}.OutcomeWords(verb, rep), Body: b.String(),
		Doc: reportJSON(rep, p, err), Err: err}
	if p != nil {
		o.Notes = p.Notes
	}
	switch {
	case err != nil:
		o.Status = fanout.Failed
		if rep.Failed == nil && !explained(rep) {
			o.Body += "error: " + err.Error() + "\n"
		}
	case rep.Changed > 0:
		o.Status = fanout.Changed
	default:
		o.Body = ""
	}
	return o
}

// unsaved are targets of which no plan could be made or saved.
func unsaved(all map[string]round.Outcome) int {
	n := 0
	for _, o := range all {
		if o.Status != fanout.OK && o.Status != fanout.Changed {
			n++
		}
	}
	return n
}
