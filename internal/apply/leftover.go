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

// mark returns the value of the environment variable that identifies the programs of the current
// change: host, run, change and direction. It contains the host, so that two hosts on one kernel do
// not end programs of each other.
func (r *run) mark() string {
	if r.header.PID == 0 {
		return ""
	}
	direction := ""
	if r.machine.Back {
		direction = "back"
	}
	return r.markOf(r.current, direction)
}

func (r *run) markOf(change int, direction string) string {
	return fmt.Sprintf("%s%d/%s", r.markPrefix(), change, direction)
}

// markPrefix identifies the run and the inode of its journal: a copy of a state directory belongs to
// another host.
func (r *run) markPrefix() string {
	st, _ := r.Store.FS().Lstat("/journal") // the journal directory is open, so it exists
	return fmt.Sprintf("%s/%d/%d/%d/%d/", strings.TrimPrefix(r.header.Plan, "sha256:"), st.Dev, st.Ino, r.header.PID,
		r.header.Run)
}

// reap ends the programs of the interrupted run that are still running, with their children, before
// recovery starts. Otherwise they could change objects that are being undone. Programs that a finished
// command left running, such as a daemon, are intended and stay. Tools that change accounts or
// packages may finish, because a kill would cause more damage.
func (r *recovery) reap(recs []journal.Record) error {
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
		r.note(fmt.Sprintf("%d processes of the interrupted run were still running and were ended", n))
	}
	if err != nil {
		return fmt.Errorf("cannot end the processes that the run left: %w", err)
	}
	return nil
}

// patience returns how long the tool of a change may take to finish. The argument has the form
// "change/direction".
func (r *recovery) patience(what string) time.Duration {
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
