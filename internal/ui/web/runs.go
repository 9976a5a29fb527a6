package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

// runsPerPage is the number of runs on one page.
const runsPerPage = 25

// runsData is the data of the page with the history of a target.
type runsData struct {
	hostData
	Runs         []run // the newest first
	Total        int
	Newer, Older string // the addresses of the pages before and after this one; "" means none
}

// run is a run for display.
type run struct {
	journal.RunInfo
}

// runsPage shows the newest runs of a target.
func runsPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := runsData{hostData: host}
	command := d.command("log")
	q := question{target: d.Name, command: command, within: answerWithin}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		all, err := x.Runs(ctx)
		d.cut(all, v.URL.Path, offsetOf(v))
		return err
	})
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	p := &page{Title: "Runs of " + d.Name, Tab: "/", Template: "runs", Data: d, Command: command}
	if v.host == nil {
		p.Address = address(route.Runs(), route.RunsQuery{Target: d.Name, Offset: offsetOf(v), Limit: runsPerPage})
	}
	return p, nil
}

func offsetOf(v *visit) int {
	offset, _ := strconv.Atoi(v.URL.Query().Get("offset"))
	return max(0, offset)
}

// cut selects the runs of one page from a history that begins with the oldest run.
func (d *runsData) cut(all []journal.RunInfo, path string, offset int) {
	d.Total = len(all)
	slices.Reverse(all)
	from := min(offset, len(all))
	to := min(from+runsPerPage, len(all))
	for _, r := range all[from:to] {
		d.Runs = append(d.Runs, run{r})
	}
	at := func(offset int) string { return fmt.Sprintf("%s?offset=%d", path, max(0, offset)) }
	if from > 0 {
		d.Newer = at(from - runsPerPage)
	}
	if to < len(all) {
		d.Older = at(to)
	}
}

// Result returns the outcome of a run in a word.
func (r run) Result() string {
	if r.Outcome == "" {
		return "unfinished"
	}
	return string(r.Outcome)
}

// Operation describes a run in a few words.
func (r run) Operation() string {
	switch h := r.Header; {
	case h.Operation == journal.OpRollback && h.To == 0:
		return "rollback to the origin"
	case h.Operation == journal.OpRollback:
		return fmt.Sprintf("rollback to run %d", h.To)
	case h.Continues > 0:
		return fmt.Sprintf("%s, after run %d", h.Operation, h.Continues)
	default:
		return string(h.Operation)
	}
}

// Took returns the duration of a run, or "" if it has not ended.
func (r run) Took() string {
	if r.Ended == 0 {
		return ""
	}
	return tookText(time.Duration(r.Ended - r.Started))
}

// Revision returns the revision of the list of a run.
func (r run) Revision() repo.Revision { return r.Header.Revision }

// Author returns the name of the author, without the address.
func (r run) Author() string {
	name, _, _ := strings.Cut(r.Header.Revision.Author, " <")
	return name
}

// By returns the user of a run, and the origin of the command.
func (r run) By() string {
	return strings.Join(slices.DeleteFunc([]string{r.Header.User, r.Header.From}, func(s string) bool { return s == "" }),
		", from ")
}
