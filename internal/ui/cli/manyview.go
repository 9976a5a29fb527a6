package cli

import (
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/render"
)

// TargetDoc is the result of one target of many, on its own line.
type TargetDoc struct {
	Format string `json:"format"` // fettle.target/1
	Target string `json:"target"`
	Part   string `json:"part,omitempty"` // of the command
	Status string `json:"status"`         // ok, changed, failed, unreachable, skipped
	Exit   int    `json:"exit"`
	Text   string `json:"text,omitempty"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
	Result any    `json:"result,omitempty"` // the document that the command prints for one target
}

// TargetsDoc is the last line: the number of targets for each result.
type TargetsDoc struct {
	Format string         `json:"format"` // fettle.targets/1
	Exit   int            `json:"exit"`
	Count  map[string]int `json:"count"`
}

// TargetLine prints the document of one target, on one line.
func TargetLine(s *Printer, name string, o round.Outcome) {
	if !s.JSON {
		return
	}
	doc := TargetDoc{Format: "fettle.target/1", Target: name, Part: o.Part, Status: o.Status.String(),
		Exit: ExitCode(o.Err), Text: o.Line, Result: o.Doc}
	if o.Err != nil && ExitCode(o.Err) != ExitChanges {
		doc.Error, doc.Hint = o.Err.Error(), hintOf(o.Err)
	}
	s.LineDocument(doc)
}

// LineDocument prints a JSON document in one line, for a stream of documents.
func (s *Printer) LineDocument(doc any) {
	s.Documented = true
	_ = printJSON(s.App.Stdout, doc, "") // the exit code reports a closed pipe
}

// board shows targets while they are worked on.
func (s *Printer) board(doing string, n int, quiet bool) *render.Board {
	if s.JSON || quiet {
		return render.NewBoard(discard{}, render.Style{}, false, doing, n)
	}
	return render.NewBoard(s.App.Stderr, s.ErrStyle(), s.App.Terminal.Err && s.Colored(true), doing, n)
}

// Interrupts receives the signals of the user, which first stop gently. The function restores the
// default.
func (s *Printer) Interrupts() (<-chan struct{}, func()) {
	if s.App.Console.Interrupts == nil {
		return nil, func() {}
	}
	return s.App.Console.Interrupts()
}

// ShowGroups prints the results of targets; targets with the same result appear once.
func ShowGroups(s *Session, all map[string]round.Outcome, words map[fanout.Status]string) {
	if s.JSON {
		return
	}
	var groups []render.Group
	for _, g := range round.Groups(all) {
		groups = append(groups,
			render.Group{Status: g.Status, Word: wordOf(g.Status, words), Targets: g.Targets, Body: g.Body})
	}
	s.Style().Groups(s.App.Stdout, groups, s.Verbose)
}

func wordOf(st fanout.Status, words map[fanout.Status]string) string {
	if w := words[st]; w != "" {
		return w
	}
	return st.String()
}

// ShowCounts prints the last line.
func ShowCounts(s *Printer, verb string, all map[string]round.Outcome, words map[fanout.Status]string,
	err error) {
	count := round.Count(all)
	if s.JSON {
		doc := TargetsDoc{Format: "fettle.targets/1", Exit: ExitCode(err), Count: map[string]int{}}
		for st, n := range count {
			doc.Count[st.String()] = n
		}
		s.LineDocument(doc)
		return
	}
	var parts []string
	for _, st := range round.Order() {
		if count[st] > 0 {
			parts = append(parts, s.Style().Status(st, fmt.Sprintf("%d %s", count[st], wordOf(st, words))))
		}
	}
	s.Printf("%s %s: %s\n", verb, render.Count(len(all), "target"), strings.Join(parts, ", "))
}

// LookMany runs a task that needs no plan on every target. It shows each result, and equal results
// once.
func LookMany(ctx context.Context, s *Session, f ManyFlags, doing, verb string, words map[fanout.Status]string,
	one func(context.Context, *Member, executor.Executor) round.Outcome) error {
	cr, err := s.TargetSet(ctx, f)
	if err != nil {
		return err
	}
	defer cr.Close()
	return cr.Finish(verb, cr.Round(ctx, cr.Names, doing, true, one), words)
}

// Finish shows how a command ended on its targets.
func (cr *TargetSet) Finish(verb string, all map[string]round.Outcome, words map[fanout.Status]string) error {
	return cr.FinishAs(ExitOf(all), verb, all, words)
}

// FinishAs is Finish for a command that ends with err, also if no target failed. It returns err.
func (cr *TargetSet) FinishAs(err error, verb string, all map[string]round.Outcome,
	words map[fanout.Status]string) error {
	ShowGroups(cr.Session, all, words)
	ShowCounts(cr.Session.Printer, verb, all, words, err)
	cr.ShowWarned()
	if cr.Changes {
		Remember(cr.Session, cr.Source, all)
	}
	return err
}

// ShowWarned says that there were warnings, which are mostly the same for all.
func (cr *TargetSet) ShowWarned() {
	n := 0
	for _, m := range cr.members {
		n += m.warned
	}
	if n > 0 && !cr.Session.JSON {
		cr.Session.ErrStyle().Warning(cr.Session.App.Stderr, fmt.Sprintf("compiling reported %s; see them: fettle validate",
			render.Count(n, "warning")))
	}
}
