package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func showJob(s *cli.Printer, r document.Job) {
	s.Printf("Job %s: %s, by %s at %s\n", r.ID, render.Escape(whatText(r)), r.By, s.Moment(r.At))
	if r.CancelledBy != "" {
		s.Printf("Cancelled by %s\n", r.CancelledBy)
	}
	s.Printf("\n")
	rows, left := [][]string{}, 0
	for _, a := range r.Targets {
		if !a.Done && a.State != document.JobExpired {
			left++
		}
		rows = append(rows, []string{cmp.Or(a.Name, string(a.ID)), string(a.State), s.Moment(a.At), ranText(s, a)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE", "TIME", "REASON"}, rows)
	showOutputs(s, r)
	if left > 0 {
		s.Printf("\n%d of %d have not acknowledged it yet. See which: fettle job show %s\n", left, len(r.Targets), r.ID)
	}
}

// showOutputs prints the output of programs, after the name of each target.
func showOutputs(s *cli.Printer, r document.Job) {
	for _, a := range r.Targets {
		if a.Result == nil || a.Result.Stdout+a.Result.Stderr == "" {
			continue
		}
		s.Printf("\n%s:\n", cmp.Or(a.Name, string(a.ID)))
		for _, text := range []string{a.Result.Stdout, a.Result.Stderr} {
			for line := range strings.Lines(text) {
				s.Printf("  %s\n", render.Escape(strings.TrimRight(line, "\r\n")))
			}
		}
	}
}

// shortened is a line of a list.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func showJobs(s *cli.Printer, p document.JobPage) {
	if len(p.Jobs) == 0 {
		s.Printf("There are no jobs. Create one: fettle job --help\n")
		return
	}
	rows := [][]string{}
	for _, r := range p.Jobs {
		acknowledged := 0
		for _, a := range r.Targets {
			if a.Done {
				acknowledged++
			}
		}
		rows = append(rows, []string{r.ID, render.Escape(shortened(whatText(r))),
			fmt.Sprintf("%d/%d", acknowledged, len(r.Targets)), s.Moment(r.At), r.By})
	}
	s.Style().Table(s.App.Stdout, []string{"JOB", "OPERATION", "DONE", "CREATED", "BY"}, rows)
	if left := p.Total - len(p.Jobs); left > 0 {
		s.Printf("%d more; see them with --limit\n", left)
	}
}

// ranText describes the result of a command on a target briefly.
func ranText(s *cli.Printer, a document.JobTarget) string {
	r := a.Result
	var out []string
	switch {
	case r == nil:
	case r.TimedOut:
		out = append(out, "ended at its timeout")
	case r.Exit < 0:
		out = append(out, strings.TrimSpace("ended by a signal: "+r.Signal))
	case r.Exit == 0 && a.Error != "": // it never began
	default:
		out = append(out, fmt.Sprintf("exit %d", r.Exit))
	}
	if a.Error != "" {
		out = append(out, a.Error)
	}
	if a.Cut {
		out = append(out, "its output is omitted: see the history of the target")
	}
	return strings.Join(out, "; ")
}

// whatText returns the command of a job as the user typed it.
func whatText(r document.Job) string {
	if r.Run == nil {
		return r.What
	}
	if r.Run.Action == "" {
		words := r.What
		for _, name := range r.Run.Locks {
			words += " --lock " + name
		}
		return words + " -- " + cli.WordsText(r.Run.Program())
	}
	words := []string{r.What, r.Run.Action}
	for name, value := range r.Run.Params {
		words = append(words, cli.WordsText([]string{name + "=" + value}))
	}
	slices.Sort(words[2:])
	return strings.Join(words, " ")
}
