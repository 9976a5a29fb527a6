package explain

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// now is the time of the tests.
func now() time.Time { return time.Date(2026, 11, 21, 4, 21, 57, 0, time.UTC) }

// TestExplainWaitForSlot: an operator sees for which lock a target waits, since when, and which targets have its slots.
func TestExplainWaitForSlot(t *testing.T) {
	at := func(minutes time.Duration) int64 { return now().Add(-minutes * time.Minute).UnixNano() }
	e := document.Explanation{Name: "db1", Module: "modules/base", State: "ready",
		LockWaits: []document.LockWait{{Lock: "reboots", Since: at(12)}}}
	show := func() string {
		var out bytes.Buffer
		showExplanation(&cli.Printer{App: &cli.App{Stdout: &out, Now: now}}, e)
		return out.String()
	}
	if got := show(); !strings.Contains(got, "slot      waits for one of the lock reboots since 2026-11-21 04:09:57\n") {
		t.Error(got)
	}
	for range 7 {
		e.LockWaits[0].Holders = append(e.LockWaits[0].Holders, document.LockHolder{Name: "web1", Since: at(20)})
	}
	want := "04:09:57, held by " + strings.Repeat("web1 since 2026-11-21 04:01:57, ", shownHolders) + "2 more\n"
	if got := show(); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
