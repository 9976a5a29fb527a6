package hub_test

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// TestReportedRunTimes: the run times that an agent reports are in its events and in the metrics of the hub. One of an
// older agent is unknown, and an impossible one too.
func TestReportedRunTimes(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "\n"})
	w.birth()
	w.start()
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Uses: 1}, &tok)
	id, link := w.agent("web1", tok.Secret)
	for i, d := range []int64{int64(3 * time.Second), 0, -5, 1 << 62} {
		r := fleet.Report{Format: fleet.ReportFormat, Target: id.ID, Seq: uint64(i + 1), At: time.Now().UnixNano(),
			Event: fleet.Event{Kind: fleet.Applied, Run: i + 1, Duration: d}}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "that the hub takes the report", func() (error, bool) {
			_, err := link.Ask(t.Context(), fleet.MessageReport, text)
			return err, err == nil
		})
	}
	page := until(t, "the events", func() (p document.EventPage, ok bool) {
		w.ask("GET", "/v1/events?kind=applied", nil, &p)
		return p, len(p.Events) == 4
	})
	for i, e := range page.Events {
		if want := map[int]int64{0: int64(3 * time.Second)}[i]; e.Duration != want {
			t.Errorf("run %d took %d, want %d", e.Run, e.Duration, want)
		}
	}
	var history document.History
	w.ask("GET", "/v1/fleet/history", nil, &history)
	names := ""
	for _, s := range history.Series {
		if strings.HasPrefix(s.Name, "run") {
			names += s.Name + " "
		}
	}
	if names != "runs run_median run_95 run_longest " {
		t.Error(names)
	}
	hub := socketClient(filepath.Join(w.dir, "hub.sock")).http
	a, err := hub.Get("http://hub/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK ||
		!strings.Contains(string(text), "fettle_run_seconds_count 1\n") ||
		!strings.Contains(string(text), "fettle_run_seconds_sum 3\n") {
		t.Errorf("%d %v\n%s", a.StatusCode, err, text)
	}
}
