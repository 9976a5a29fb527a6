package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
)

// Limits of a page about changes. The rest is on the command line.
const (
	maxChanges   = 500
	maxDiffLines = 300      // of one change
	maxPageLines = 5000     // of all changes
	maxText      = 16 << 10 // bytes of one text
)

// change is a change of a plan for display.
type change struct {
	plan.Change
	Does    plan.Action // as shown
	Took    string      // in a run; "" means that it is unknown
	Outcome string      // in a run: done, failed, undone or skipped; "" means that there was no run
	Failure string
	Lines   []diffLine // of the difference of content
	Cut     int        // number of further lines
}

// diffLine is a line of a unified diff.
type diffLine struct{ Class, Text string }

// changeList is a list of changes for display.
type changeList struct {
	Changes []change
	More    int // number of further changes
	Command string
}

// listChanges returns the changes of a plan for display. command shows all of them on the command line.
func listChanges(p *plan.Plan, command string) changeList {
	l := changeList{Command: command}
	if p == nil {
		return l
	}
	shown := p.Changes[:min(len(p.Changes), maxChanges)]
	l.More = len(p.Changes) - len(shown)
	left := maxPageLines
	for _, c := range shown {
		out := change{Change: c, Does: c.Shown()}
		out.Lines, out.Cut = diffLines(c.Diff, min(left, maxDiffLines))
		left -= len(out.Lines)
		if len(out.Lines) > 0 { // digests would add nothing
			out.Differences = slices.DeleteFunc(slices.Clone(c.Differences), isContent)
		}
		l.Changes = append(l.Changes, out)
	}
	return l
}

func isContent(d image.Difference) bool { return d.Field == "content" }

// diffLines returns the first lines of a diff without its header, and the number of lines that are cut off.
func diffLines(diff string, most int) (out []diffLine, cut int) {
	if diff == "" {
		return nil, 0
	}
	for i, line := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if i < 2 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")) {
			continue
		}
		if len(out) == most {
			cut++
			continue
		}
		out = append(out, diffLine{diffClass(line), bounded(line)})
	}
	return out, cut
}

func diffClass(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	case strings.HasPrefix(line, "@@"):
		return "place"
	}
	return "same-line"
}

// bounded returns the beginning of a text.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf(" … (%d more bytes)", len(text)-end)
}

// outcomes adds the results of a run, which are in the order of the plan.
func (l *changeList) outcomes(all []executor.Invocation) {
	i := 0
	for _, inv := range all {
		for _, p := range inv.Parts {
			if i == len(l.Changes) {
				return
			}
			c := &l.Changes[i]
			i++
			if c.Addr != p.Addr {
				continue // the answer of an agent need not be consistent
			}
			c.Outcome, c.Failure = p.Outcome, bounded(p.Error)
			if c.Source == "" {
				c.Source = inv.Source
			}
			if c.State == "" && inv.State != string(c.Addr) {
				c.State = inv.State
			}
		}
	}
}

// took adds the durations of changes of a run in ns, by their index.
func (l *changeList) took(all map[int]int64) {
	for i := range l.Changes {
		if d := time.Duration(all[i]); d >= time.Millisecond {
			l.Changes[i].Took = tookText(d)
		}
	}
}

// failed returns the changes that failed.
func (l changeList) failed() (out []change) {
	for _, c := range l.Changes {
		if c.Outcome == "failed" {
			out = append(out, c)
		}
	}
	return out
}

// tookText returns a duration with a precision for users.
func tookText(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return duration.Text(d.Truncate(unit))
		}
	}
	return duration.Text(max(0, d).Truncate(time.Millisecond))
}
