package locks

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// now is the time of the test.
func now() time.Time { return time.Date(2026, 11, 21, 4, 21, 57, 0, time.UTC) }

// TestLockList: an operator sees which slots are taken, why none is granted, and the next step.
func TestLockList(t *testing.T) {
	at := func(minutes int) int64 { return now().Add(time.Duration(minutes) * time.Minute).UnixNano() }
	all := []document.Lock{{Name: "migrations", Slots: 1, Lease: int64(time.Hour)},
		{Name: "reboots", Slots: 2, Taken: 2, Lease: int64(30 * time.Minute),
			Holders: []document.LockHolder{
				{Name: "web1", Since: at(-50), Expires: at(-20), State: document.SlotOverdue},
				{Name: "web2", Since: at(-5), Expires: at(25), State: document.SlotHeld}},
			Waiting: []document.LockWaiter{{Name: "db1", Since: at(-12), Asked: at(0)}}}}
	show := func(page ...document.Lock) string {
		var out bytes.Buffer
		showLocks(&cli.Printer{App: &cli.App{Stdout: &out, Now: now}}, document.LockPage{Locks: page})
		return out.String()
	}
	want := "migrations: 0 of 1 slots are taken; lease 1h\n\n" +
		"reboots: 2 of 2 slots are taken; lease 30m\n" +
		"TARGET  STATE                            SINCE                END OF LEASE\n" +
		"web1    overdue for 20m, keeps its slot  2026-11-21 03:31:57  2026-11-21 04:01:57\n" +
		"web2    has a slot, 25m left             2026-11-21 04:16:57  2026-11-21 04:46:57\n" +
		"db1     waits for a slot                 2026-11-21 04:09:57\n" +
		"web1 did not release its slot in time. If it is done or stays off: fettle lock release reboots web1 --reason WHY\n"
	if got := show(all...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, change := range map[string]func(*document.Lock){
		"0 of 1 slots are taken; the repository no longer declares this lock": func(l *document.Lock) { l.Undeclared = true },
		"the fleet was restored from a backup, so it grants none until": func(l *document.Lock) {
			l.Opens = now().Add(time.Hour).UnixNano()
		},
		"2 of 1 slots are taken; the repository reduced the number": func(l *document.Lock) { l.Taken = 2 },
		"lost its slot": func(l *document.Lock) {
			l.Holders = []document.LockHolder{{Name: "web3", State: document.SlotLost}}
		},
	} {
		l := all[0]
		change(&l)
		if got := show(l); !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	if got := show(); got != "The repository declares no locks. See docs/coordination.md\n" {
		t.Error(got)
	}
}
