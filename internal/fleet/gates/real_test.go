package gates

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/port"
)

const scrapeConfig = `scrape_configs:
- job_name: web
  scrape_interval: 100ms
  honor_labels: true
  static_configs: [{targets: ["%s"]}]
`

// realPrometheus starts the program of Debian, which collects the samples, and returns its address.
func realPrometheus(t *testing.T, samples []string) string {
	program := needs.Program(t, "prometheus")
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Join(samples, "\n")+"\n")
	}))
	t.Cleanup(source.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf(scrapeConfig, strings.TrimPrefix(source.URL, "http://"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := port.Reserve(t)
	ctx, stop := context.WithCancel(context.Background())
	run := exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+address, "--log.level=error")
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if _ = run.Wait(); t.Failed() {
			t.Log(said.String())
		}
	})
	return "http://" + address
}

// TestRealPrometheus: the answers of the real program are read like those of the other tests.
func TestRealPrometheus(t *testing.T) {
	var samples []string
	for i := range 10 {
		samples = append(samples, fmt.Sprintf(`latency{instance="web%d:9100"} %d`, i+1, 1+i%5+i/5*10))
	}
	url := realPrometheus(t, samples)
	a := Programs{Secrets: &notify.Sender{}, Name: func(id rollout.ID) string { return "web" + string(id[2:]) }}
	most := 20.0
	metric := func(query string) string {
		g := rollout.Gate{Type: rollout.MetricGate, URL: url, Query: query, Max: &most}
		v, why := askPrometheus(t.Context(), a.Secrets, g)
		return string(v) + " " + why
	}
	deadline := time.Now().Add(time.Minute)
	for metric("count(latency)") != "pass the value is 10" {
		if time.Now().After(deadline) {
			t.Fatal(metric("count(latency)"))
		}
		time.Sleep(50 * time.Millisecond)
	}
	for query, want := range map[string]string{
		"max(latency)":              "pass the value is 15",
		"2 * max(latency)":          "fail the value is 30, and may be at most 20",
		"scalar(max(latency))":      "pass the value is 15",
		"max(latency) / 0":          "fail the value is +Inf",
		"0 * max(latency) / 0":      "error the value is not a number",
		"latency":                   "error the query returns 10 values",
		"missing":                   "error the query returns 0 values",
		"latency[1m]":               "error the query returns a matrix",
		`"text"`:                    "error the query returns a string",
		"max(":                      "error " + strings.TrimPrefix(url, "http://") + " refuses the query: ",
		"max(latency{instance='a'}": "error " + strings.TrimPrefix(url, "http://") + " refuses the query: ",
	} {
		if got := metric(query); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	compareReal(t, a, url)
}

// compareReal compares targets 1 to 5, whose values are lower, with targets 6 to 10.
func compareReal(t *testing.T, a Programs, url string) {
	d := rollout.Due{Gate: rollout.Gate{Type: rollout.CompareGate, URL: url, Label: "instance", MinSample: 5,
		MaxRatio: 1.5}}
	for i := range 5 {
		d.With = append(d.With, rollout.ID(fmt.Sprint("id", i+1)))
		d.Without = append(d.Without, rollout.ID(fmt.Sprint("id", i+6)))
	}
	for query, want := range map[string]string{
		"latency":                        "pass the median is 3 on 5 targets with",
		"20 - latency":                   "fail worse than permitted: the median is 17 on",
		"latency{instance!='web3:9100'}": "none 4 targets with the change and 5 without it",
		"missing":                        "none 0 targets with the change",
		"sum(latency)":                   "error a value of the query has no label instance",
		"scalar(max(latency))":           "error the query returns a scalar",
	} {
		d.Gate.Query = query
		v, why := a.Ask(t.Context(), d)
		if got := string(v) + " " + why; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
