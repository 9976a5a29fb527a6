package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/hub/metrics"
)

// update rewrites docs/metrics.md. Review the difference like code.
var update = flag.Bool("update", false, "rewrite docs/metrics.md")

var (
	helpLine = regexp.MustCompile(`(?m)^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n(\S*)`)
	label    = regexp.MustCompile(`[{,]([a-z_]+)=`)
)

// TestMetricsPage compares docs/metrics.md with the metrics that a hub serves.
func TestMetricsPage(t *testing.T) {
	const page = "../../../../docs/metrics.md"
	_, o := hub(t)
	var b strings.Builder
	b.WriteString("# Metrics of a hub\n\nA hub serves these metrics for Prometheus at `/metrics`, to users with the right `read`. A test writes this page from\n" +
		"the source. A dashboard, alert rules and the settings of Prometheus are in\n[packaging/monitoring](../packaging/monitoring).\n\n" +
		"| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range helpLine.FindAllStringSubmatch(scraped(t, metrics.New(o)), -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(m[4], -1) {
			if l[1] != "le" {
				labels = append(labels, "`"+l[1]+"`")
			}
		}
		slices.Sort(labels)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m[1], m[3], strings.Join(labels, ", "), m[2])
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != b.String() {
		t.Errorf("docs/metrics.md is not the list of the metrics (%v). Run: go test ./internal/fleet/hub/metrics -run TestMetricsPage -update",
			err)
	}
}
