package apply

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
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

// markPrefix names the run and where its journal is: a copy of a state directory
// is another machine.
func (r *run) markPrefix() string {
	st, _ := r.Store.FS().Lstat("/journal") // it is open
	return fmt.Sprintf("%s/%d/%d/%d/%d/", strings.TrimPrefix(r.header.Plan, "sha256:"), st.Dev, st.Ino, r.header.PID, r.header.Run)
}

// reap ends the programs that were running when the run was cut short, with all
// that they started, before anything is settled: else they would go on with
// what is being undone. What a command that had ended left running, such as
// a daemon, is meant to run and stays. The tools that change accounts and
// packages are let finish: killed, they leave more to mend than they would do.
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
	n, err := reaper.Reap(r.ctx, func(mark string) (bool, time.Duration) {
		what, ours := strings.CutPrefix(mark, r.markPrefix())
		return ours && !ended[what], r.patience(what)
	})
	if n > 0 {
		r.note(fmt.Sprintf("it had left %d processes running; they are ended", n))
	}
	if err != nil {
		return fmt.Errorf("cannot end what it left running: %w", err)
	}
	return nil
}

// patience is how long the tool of a change may take to come to its end: what
// is "change/direction".
func (r *run) patience(what string) time.Duration {
	change, _, _ := strings.Cut(what, "/")
	i, err := strconv.Atoi(change)
	if err != nil || i < 0 || i >= len(r.plan.Changes) {
		return 0
	}
	switch r.plan.Changes[i].Addr.Kind() {
	case addr.KindUser, addr.KindGroup, addr.KindMember:
		return time.Minute
	case addr.KindPkg:
		return 15 * time.Minute
	}
	return 0
}
