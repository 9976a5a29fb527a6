package waves

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/gates"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/ui/cli"
)

// asks reports whether the operator can be asked while the rollout runs.
func (r Rollout) asks() bool {
	s := r.Targets.Session
	return s.App.Terminal.In && !s.JSON && !r.Silent
}

func (d Decisions) answers() (out []push.Answer) {
	for _, gate := range d.Approve {
		out = append(out, push.Answer{Gate: gate, Approve: true})
	}
	for _, gate := range d.Reject {
		out = append(out, push.Answer{Gate: gate})
	}
	return out
}

// fits refuses decisions about gates for which a rollout does not wait. r is nil if it has not begun.
func (d Decisions) fits(r *rollout.Rollout) error {
	var waits []string
	if r != nil {
		waits = r.Unapproved()
	}
	for _, a := range d.answers() {
		if slices.Contains(waits, a.Gate) {
			continue
		}
		hint := "Omit --approve and --reject, and decide when the rollout waits for a gate"
		if len(waits) > 0 {
			hint = "It waits for: " + strings.Join(waits, ", ")
		}
		return cli.Refuse(hint, fmt.Sprintf("cannot decide: the rollout does not wait for the gate %q", a.Gate))
	}
	return nil
}

// asker returns Driver.Ask.
func (p *performed) asker() func(context.Context, rollout.Due) (rollout.Verdict, string) {
	programs := gates.Programs{Secrets: secrets{p.cr.Session.App.Env},
		Name: func(id rollout.ID) string { return string(id) }}
	return func(ctx context.Context, d rollout.Due) (rollout.Verdict, string) {
		if d.Gate.Type == rollout.ApprovalGate {
			return p.askOperator(ctx, d), ""
		}
		return programs.Ask(ctx, d)
	}
}

// askOperator asks until the answer is approve or reject. Without an answer, the operator cannot be asked any more.
func (p *performed) askOperator(ctx context.Context, d rollout.Due) rollout.Verdict {
	s := p.cr.Session
	s.Printf("\n%s\nType approve or reject, or press Ctrl-C to decide later:\n", p.described(d))
	for {
		switch word, err := s.Word(ctx); {
		case err != nil:
			return rollout.Unclear
		case word == "approve":
			return rollout.Pass
		case word == "reject":
			return rollout.Fail
		}
		s.Printf("Type approve or reject:\n")
	}
}

// described describes an approval gate as it is declared.
func (p *performed) described(d rollout.Due) string {
	g, wave := d.Gate, d.Plan.Waves[d.Wave].Name
	for _, w := range p.rules.Waves {
		for _, declared := range w.Gates {
			if strings.HasPrefix(wave, w.Name) && declared.Name == g.Name {
				g = declared
			}
		}
	}
	who := fmt.Sprintf("%d", g.Need)
	if all := append(slices.Clone(g.Users), g.Groups...); len(all) > 0 {
		who += " of " + strings.Join(all, ", ")
	}
	if g.NotAuthor {
		who += ", not the author"
	}
	text := fmt.Sprintf("The wave %s waits for the approval %q", wave, g.Name)
	if g.Need > 1 || g.NotAuthor || len(g.Users)+len(g.Groups) > 0 {
		text += fmt.Sprintf(" (needed: %s).\nA workstation cannot verify users, so your decision is for all of them", who)
	}
	return text + "."
}

// decide returns the next steps for gates that wait for the operator.
func (p *performed) decide(waits []rollout.Due) string {
	var out []string
	for _, d := range waits {
		name := cli.WordsText([]string{d.Gate.Name})
		out = append(out, p.described(d), "Approve it: the same command with --approve "+name,
			"Or reject it: the same command with --reject "+name)
	}
	return strings.Join(out, "\n")
}
