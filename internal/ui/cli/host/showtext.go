package host

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func showRun(s *cli.Printer, d executor.RunDetails) error {
	if s.JSON {
		return s.Document(rundoc.Of(d))
	}
	i, h, w := d.Info, d.Info.Header, s.App.Stdout
	took := ""
	if i.Ended > 0 {
		took = " in " + render.Duration(time.Duration(i.Ended-i.Started))
	}
	s.Style().Pairs(w, []render.Pair{
		{Name: "run", Value: strconv.Itoa(h.Run)},
		{Name: "operation", Value: cli.Operation(h) + ", from " + render.RunName(h.Base)},
		{Name: "outcome", Value: rundoc.Outcome(i) + took + fmt.Sprintf(", %d changed", i.Changed)},
		{Name: "error", Value: i.Error},
		{Name: "started", Value: s.Moment(i.Started)},
		{Name: "by", Value: cli.JoinWords(h.User, "("+h.From+")", processText(h.PID))},
		{Name: "command", Value: h.Command},
		{Name: "target", Value: h.Target},
		{Name: "revision", Value: render.Style{}.Revision(h.Revision)},
		{Name: "author", Value: h.Revision.Author},
		{Name: "parts", Value: partsText(h.Revision)},
	})
	for _, inv := range d.Invocations {
		showInvocation(s, inv)
	}
	showDiffs(s, d.Plan)
	return nil
}

// showDiffs shows the differences of text content in the order of the plan.
func showDiffs(s *cli.Printer, p *plan.Plan) {
	if p == nil {
		return
	}
	for _, c := range p.Changes {
		if c.Diff != "" {
			s.Printf("\n%s\n", render.Escape(c.Addr.String()))
			s.Style().Diff(s.App.Stdout, c.Diff, "  ", -1)
		}
	}
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
