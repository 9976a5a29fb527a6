package hub_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestHubLimits: while a hub has little free space, its check fails and there is an alarm. Both end together.
func TestHubLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": webGroup, "modules/web/module.hcl": ""})
	var gib atomic.Uint64
	w.free = func(string) (free, all uint64, err error) { return gib.Load() << 30, 70 << 30, nil }
	gib.Store(3)
	w.birth()
	w.start()
	agree := func(low bool) {
		t.Helper()
		until(t, "the check and the alarms agree", func() (document.AlarmPage, bool) {
			var c document.HubCheck
			var a document.AlarmPage
			w.ask("GET", "/v1/check", nil, &c)
			w.ask("GET", "/v1/alarms", nil, &a)
			fails := slices.ContainsFunc(c.Checks, func(f document.HubFinding) bool { return f.Name == "disk" && !f.Well })
			alarm := slices.ContainsFunc(a.Alarms, func(a document.Alarm) bool {
				return a.Kind == "hub_limit" && strings.Contains(a.Text, "hub1 has 4% of its disk free")
			})
			return a, fails == low && alarm == low
		})
	}
	agree(true)
	gib.Store(20)
	agree(false)
}
