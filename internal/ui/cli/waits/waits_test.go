package waits

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/ui/cli"
)

func shown[P any](show func(*cli.Printer, P), page P) string {
	var out bytes.Buffer
	show(&cli.Printer{App: &cli.App{Stdout: &out, Now: apitest.Now}}, page)
	return out.String()
}

// TestBarrierList: an operator sees which members have arrived, and why the others do not count.
func TestBarrierList(t *testing.T) {
	noon := apitest.Now().UnixNano()
	all := document.BarrierPage{Barriers: []document.Barrier{{Name: "schema-2", Quorum: "all",
		OfflineAfter: int64(10 * time.Minute), Generation: 3, Opened: noon - int64(time.Hour), Arrived: 1, Required: 2,
		Counted: 2, Members: []document.BarrierMember{
			{Name: "db1", State: document.MemberArrived, Since: noon - int64(time.Minute)},
			{Name: "db2", State: document.MemberExpected}, {Name: "db3", State: document.MemberOffline}}}}}
	want := "schema-2: 1 of 2 required members have arrived; quorum all of 2; offline members do not count after 10m; " +
		"generation 3 opened at 2026-11-21 03:21:57\n" +
		"TARGET  STATE                    SINCE\n" +
		"db1     arrived                  2026-11-21 04:20:57\n" +
		"db2     expected\n" +
		"db3     offline, does not count\n"
	if got := shown(showBarriers, all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, b := range map[string]document.Barrier{
		"; the repository no longer declares this barrier": {Undeclared: true},
		"; it selects no targets, so it does not open":     {},
		"a       not enrolled, does not count":             member("not_enrolled"),
		"a       suspect clone, does not count":            member("suspect"),
	} {
		if got := shown(showBarriers, document.BarrierPage{Barriers: []document.Barrier{b}}); !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	if got := shown(showBarriers, document.BarrierPage{}); got !=
		"The repository declares no barriers. See docs/barriers.md\n" {
		t.Error(got)
	}
}

// member returns a barrier with one member.
func member(state document.BarrierMemberState) document.Barrier {
	return document.Barrier{Members: []document.BarrierMember{{Name: "a", State: state}}}
}

// TestSignalList: an operator sees who sent a signal, and its payload without control characters.
func TestSignalList(t *testing.T) {
	noon := apitest.Now().UnixNano()
	all := document.SignalPage{Signals: []document.Signal{{Name: "schema", Keep: int64(24 * time.Hour),
		Senders: []string{"db1"}, Sent: []document.SentSignal{
			{Sender: "db1", Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Payload: "v2", First: noon - int64(time.Hour),
				At: noon - int64(time.Minute)},
			{Sender: "kim", First: noon, At: noon}}}}}
	want := "schema: sent at 2026-11-21 04:21:57; kept for 24h; senders: db1\n" +
		"SENT                 SENDER      PAYLOAD\n" +
		"2026-11-21 04:20:57  target db1  \"v2\"\n" +
		"2026-11-21 04:21:57  user kim\n"
	if got := shown(showSignals, all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	odd := document.Signal{Name: "x", Undeclared: true,
		Sent: []document.SentSignal{{Sender: "kim", Payload: "\x1b[31m" + strings.Repeat("y", 100)}}}
	got := shown(showSignals, document.SignalPage{Signals: []document.Signal{odd}})
	if strings.Contains(got, "\x1b") || !strings.Contains(got, "y…") ||
		!strings.Contains(got, "no longer declares this signal") {
		t.Error(got)
	}
	none := document.SignalPage{Signals: []document.Signal{{Name: "x"}}}
	if got := shown(showSignals, none); !strings.Contains(got, "x: not sent") || !strings.Contains(got, "only users") {
		t.Error(got)
	}
	if got := shown(showSignals, document.SignalPage{}); got !=
		"The repository declares no signals. See docs/barriers.md\n" {
		t.Error(got)
	}
}
