package apply

import (
	"fmt"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// mark names what a program is run for now: this run, the change, and the
// direction. Who runs it is in it, so that two machines below one kernel do not
// take each other's.
func (r *run) mark() string {
	if r.header.PID == 0 {
		return ""
	}
	direction := ""
	if r.m.Back {
		direction = "back"
	}
	return r.markOf(r.at, direction)
}

func (r *run) markOf(change int, direction string) string {
	return fmt.Sprintf("%s%d/%s", r.markPrefix(), change, direction)
}

func (r *run) markPrefix() string {
	return fmt.Sprintf("%s/%d/%d/", strings.TrimPrefix(r.header.Plan, "sha256:"), r.header.PID, r.header.Run)
}

// reap ends the programs that were running when the run was cut short, with all
// that they started, before anything is settled: else they would go on with
// what is being taken back. What a command that had ended left running, such as
// a daemon, is meant to run and stays.
func (r *run) reap(recs []journal.Record) error {
	reaper, ok := r.Host.(host.Reaper)
	if !ok || r.header.PID == 0 || r.header.BootID != r.Host.BootID() {
		return nil
	}
	ended := map[string]bool{}
	for _, rec := range recs {
		if rec.Kind == journal.Result || rec.Kind == journal.Fired {
			ended[strconv.Itoa(rec.Change)+"/"+map[bool]string{true: "back"}[rec.Back]] = true
		}
	}
	n, err := reaper.Reap(func(mark string) bool {
		what, ours := strings.CutPrefix(mark, r.markPrefix())
		return ours && !ended[what]
	})
	if n > 0 {
		r.note(fmt.Sprintf("it had left %d processes running; they are ended", n))
	}
	if err != nil {
		return fmt.Errorf("cannot end what it left running: %w", err)
	}
	return nil
}
