package cli

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/render"
)

// targetDoc is the result of one target of many, on its own line.
type targetDoc struct {
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

// targetsDoc is the last line: the number of targets for each result.
type targetsDoc struct {
	Format string         `json:"format"` // fettle.targets/1
	Exit   int            `json:"exit"`
	Count  map[string]int `json:"count"`
}

// targetLine prints the document of one target, on one line.
func targetLine(s *printer, name string, o outcome) {
	if !s.json {
		return
	}
	doc := targetDoc{Format: "fettle.target/1", Target: name, Part: o.part, Status: o.status.String(),
		Exit: ExitCode(o.err), Text: o.line, Result: o.doc}
	if o.err != nil && ExitCode(o.err) != ExitChanges {
		doc.Error, doc.Hint = o.err.Error(), hintOf(o.err)
	}
	s.lineDocument(doc)
}

func (s *printer) lineDocument(doc any) {
	s.documented = true
	_ = printJSON(s.app.Stdout, doc, "") // the exit code reports a closed pipe
}

// board shows targets while they are worked on.
func (s *printer) board(doing string, n int, quiet bool) *render.Board {
	if s.json || quiet {
		return render.NewBoard(discard{}, render.Style{}, false, doing, n)
	}
	return render.NewBoard(s.app.Stderr, s.errStyle(), s.app.Terminal.Err && s.colored(true), doing, n)
}

// interrupts receives the signals of the user, which first stop gently. The function restores the
// default.
func (s *printer) interrupts() (<-chan struct{}, func()) {
	if s.app.Interrupts == nil {
		return nil, func() {}
	}
	return s.app.Interrupts()
}

// statusOrder is the order of groups: groups that need the user are last, where they are visible.
func statusOrder() []fanout.Status {
	return []fanout.Status{fanout.OK, fanout.Changed, fanout.Skipped, fanout.Unreachable, fanout.Failed}
}

// showGroups prints the results of targets; targets with the same result appear once.
func showGroups(s *session, all map[string]outcome, words map[fanout.Status]string) {
	if s.json {
		return
	}
	var groups []render.Group
	for _, st := range statusOrder() {
		at := map[string]int{}
		for _, name := range sortedNames(all) {
			o := all[name]
			if o.status != st {
				continue
			}
			body := o.body
			if body == "" && o.status == fanout.Skipped {
				body = o.line + "\n"
			}
			key := body
			if !o.said {
				key = strings.ReplaceAll(body, name, "\x00") // of each its own name
			}
			i, ok := at[key]
			if !ok {
				i = len(groups)
				at[key] = i
				groups = append(groups, render.Group{Status: st, Word: wordOf(st, words), Body: body})
			}
			groups[i].Targets = append(groups[i].Targets, name)
		}
	}
	s.style().Groups(s.app.Stdout, groups, s.verbose)
}

func wordOf(st fanout.Status, words map[fanout.Status]string) string {
	if w := words[st]; w != "" {
		return w
	}
	return st.String()
}

// showCounts prints the last line.
func showCounts(s *printer, verb string, all map[string]outcome, words map[fanout.Status]string, err error) {
	count := map[fanout.Status]int{}
	for _, o := range all {
		count[o.status]++
	}
	if s.json {
		doc := targetsDoc{Format: "fettle.targets/1", Exit: ExitCode(err), Count: map[string]int{}}
		for st, n := range count {
			doc.Count[st.String()] = n
		}
		s.lineDocument(doc)
		return
	}
	var parts []string
	for _, st := range statusOrder() {
		if count[st] > 0 {
			parts = append(parts, s.style().Status(st, fmt.Sprintf("%d %s", count[st], wordOf(st, words))))
		}
	}
	s.printf("%s %s: %s\n", verb, render.Count(len(all), "target"), strings.Join(parts, ", "))
}
