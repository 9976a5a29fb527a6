package host

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// StatusDoc is the state of a machine as a document.
type StatusDoc struct {
	Format     string          `json:"format"` // fettle.status/1
	Run        int             `json:"run"`    // 0: nothing is applied
	Target     string          `json:"target,omitempty"`
	Revision   repo.Revision   `json:"revision"`
	List       string          `json:"list,omitempty"`
	Managed    int             `json:"managed"` // addresses
	Complete   bool            `json:"complete"`
	Pending    []addr.Addr     `json:"pending,omitempty"`
	Last       *rundoc.RunInfo `json:"last,omitempty"`
	Unfinished int             `json:"unfinished,omitempty"` // a run that crashed
	Frozen     *journal.Frozen `json:"frozen,omitempty"`
	Armed      *journal.Arming `json:"armed,omitempty"`
	Locked     string          `json:"locked,omitempty"`
	Notes      []string        `json:"notes,omitempty"` // lost or damaged parts that were rebuilt
}

func statusJSON(st executor.Status) StatusDoc {
	doc := StatusDoc{
		Format: "fettle.status/1", Run: st.State.Run, Target: st.State.Target, Revision: st.State.Revision,
		List: st.State.List, Managed: len(st.State.Entries), Complete: st.State.Complete,
		Unfinished: st.Unfinished, Frozen: st.Frozen, Armed: st.Armed, Locked: st.Locked,
		Notes: st.Notes,
	}
	for _, p := range st.State.Pending {
		doc.Pending = append(doc.Pending, p.Addr)
	}
	if st.Last != nil {
		r := rundoc.InfoOf(*st.Last)
		doc.Last = &r
	}
	return doc
}

func showStatus(s *cli.Printer, st executor.Status) {
	plain := render.Style{}
	applied := "nothing yet"
	if st.State.Run > 0 {
		applied = cli.JoinWords(render.RunName(st.State.Run), plain.Revision(st.State.Revision))
	}
	managed := ""
	if st.State.Run > 0 {
		managed = cli.Addresses(len(st.State.Entries))
		if !st.State.Complete {
			managed += "; the list was not completed"
		}
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "target", Value: st.State.Target},
		{Name: "applied", Value: applied},
		{Name: "managed", Value: managed},
		{Name: "last run", Value: lastRun(s, st.Last)},
		{Name: "pending", Value: pendingText(st.State.Pending)},
		{Name: "unfinished", Value: unfinishedText(st)},
		{Name: "to confirm", Value: armedText(s, st.Armed)},
		{Name: "frozen", Value: frozenText(s, st.Frozen)},
		{Name: "locked", Value: st.Locked},
		{Name: "note", Value: strings.Join(st.Notes, "\n")},
	})
}

func lastRun(s *cli.Printer, r *journal.RunInfo) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%s, %s by %s, %s, %d changed", s.Moment(r.Started), cli.Operation(r.Header), r.Header.User,
		rundoc.Outcome(*r), r.Changed)
	if r.Error != "" {
		text += "\n" + r.Error
	}
	return text
}

func pendingText(p []journal.PendingAct) string {
	var lines []string
	for _, a := range p {
		lines = append(lines, fmt.Sprintf("%s, notified in run %d; the next apply runs it", a.Addr, a.Run))
	}
	return strings.Join(lines, "\n")
}

func unfinishedText(st executor.Status) string {
	switch {
	case st.Unfinished == 0:
		return ""
	case st.Locked != "":
		return fmt.Sprintf("run %d is in progress", st.Unfinished)
	}
	return fmt.Sprintf("run %d did not end; the next run recovers it, or run: fettle recover", st.Unfinished)
}

func armedText(s *cli.Printer, a *journal.Arming) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("run %d undoes itself at %s; to keep it type: fettle confirm", a.Run, s.Moment(a.Deadline))
}
