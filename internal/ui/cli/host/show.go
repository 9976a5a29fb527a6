package host

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// showAnswer is one run whole.
type ShowDoc struct {
	Format      string                `json:"format"` // fettle.run/1
	Info        cli.RunDoc            `json:"info"`
	Plan        *PlanDoc              `json:"plan,omitempty"`
	Invocations []executor.Invocation `json:"invocations"`
}

// NewShow builds the command show, to show one run: its states, their causes and parts.
func NewShow(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "show [RUN]",
		Short:   "Show one run: its states, their causes and parts",
		Long:    "Shows a run: which states ran, what caused them, and the result of each part.\nWithout a number it shows the last run. c3 is a command of fettle run or a\nsimilar command, with the end of its output.",
		Example: "  fettle show\n  fettle show 12\n  fettle show 12 -v\n  fettle show c3",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error { return showOne(s.Printer, c, x, a) })
		},
	}
}

// showOne shows the named run, otherwise the last run.
func showOne(s *cli.Printer, c *cobra.Command, x executor.Executor, a []string) error {
	if len(a) == 1 {
		if id, ok := commandNumber(a[0]); ok {
			return showCommand(c.Context(), s, x, id)
		}
	}
	run, err := runNumber(s, c, x, a)
	if err != nil {
		return err
	}
	shown, err := x.Show(c.Context(), run)
	if err != nil {
		return err
	}
	return showRun(s, shown)
}

func runNumber(s *cli.Printer, c *cobra.Command, x executor.Executor, a []string) (int, error) {
	runs, err := x.Runs(c.Context())
	if err != nil {
		return 0, err
	}
	if len(a) == 0 {
		if len(runs) == 0 {
			return 0, errNothingApplied()
		}
		return runs[len(runs)-1].Header.Run, nil
	}
	n, err := strconv.Atoi(a[0])
	for _, r := range runs {
		if err == nil && r.Header.Run == n {
			return n, nil
		}
	}
	return 0, cli.Refuse("List them: fettle log", fmt.Sprintf("cannot find run %q", a[0]))
}

func showRun(s *cli.Printer, shown executor.Shown) error {
	if s.JSON {
		doc := ShowDoc{Format: "fettle.run/1", Info: cli.RunJSON(shown.Info), Plan: PlanJSON("fettle.plan/1", shown.Plan),
			Invocations: shown.Invocations}
		if doc.Invocations == nil {
			doc.Invocations = []executor.Invocation{}
		}
		return s.Document(doc)
	}
	i, h, w := shown.Info, shown.Info.Header, s.App.Stdout
	took := ""
	if i.Ended > 0 {
		took = " in " + render.Duration(time.Duration(i.Ended-i.Started))
	}
	s.Style().Pairs(w, []render.Pair{
		{Name: "run", Value: strconv.Itoa(h.Run)},
		{Name: "operation", Value: cli.Operation(h) + ", from " + render.RunName(h.Base)},
		{Name: "outcome", Value: cli.OutcomeOf(i) + took + fmt.Sprintf(", %d changed", i.Changed)},
		{Name: "error", Value: i.Error},
		{Name: "started", Value: s.Moment(i.Started)},
		{Name: "by", Value: cli.JoinWords(h.User, "("+h.From+")", processText(h.PID))},
		{Name: "command", Value: h.Command},
		{Name: "target", Value: h.Target},
		{Name: "revision", Value: render.Style{}.Revision(h.Revision)},
		{Name: "author", Value: h.Revision.Author},
		{Name: "parts", Value: partsText(h.Revision)},
	})
	for _, inv := range shown.Invocations {
		showInvocation(s, inv)
	}
	return nil
}

// partsText has a line for each part of a revision with its commit. It is "" for a revision
// that is one commit.
func partsText(r repo.Revision) string {
	var lines []string
	for _, p := range r.Parts {
		line := cli.JoinWords(cmp.Or(p.Directory, "(root)"), render.Style{}.Revision(repo.Revision{Commit: p.Commit,
			Subject: p.Subject}))
		if p.Branch != r.Branch {
			line = cli.JoinWords(line, "on "+p.Branch)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func processText(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf("pid %d", pid)
}

func showInvocation(s *cli.Printer, inv executor.Invocation) {
	name := render.Escape(inv.State)
	if name == "" {
		name = "(no state)"
	}
	if inv.Source != "" {
		name += "  " + render.Escape(inv.Source)
	}
	s.Printf("\n%s\n", name)
	if len(inv.Cause) > 0 {
		s.Printf("  caused by %s\n", render.Escape(addrList(inv.Cause)))
	}
	var parts []render.Pair
	for _, p := range inv.Parts {
		value := string(p.Action) + ", " + p.Outcome
		if p.Error != "" {
			value += "\n" + p.Error
		}
		parts = append(parts, render.Pair{Name: "  " + render.Escape(p.Addr.String()), Value: value})
	}
	plain := s.Style()
	plain.Color = false
	plain.Pairs(s.App.Stdout, parts)
}

func addrList(l []addr.Addr) string {
	var out []string
	for _, a := range l {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}
