package local

import (
	"testing"
	"time"
)

func TestRestarting(t *testing.T) {
	at := func(active string, restarts uint32, pause, ago time.Duration) bool {
		return restarting(props{"ActiveState": active, "NRestarts": restarts, "RestartUSec": uint64(pause / time.Microsecond),
			"InactiveExitTimestampMonotonic": uint64((time.Hour - ago) / time.Microsecond)}, time.Hour)
	}
	for name, c := range map[string]struct{ got, want bool }{
		"loops":                 {at("active", 3, time.Second, 20*time.Second), true},
		"waits for its restart": {at("activating", 9, 10*time.Second, 30*time.Second), true},
		"stays up":              {at("active", 40, time.Second, time.Minute), false},
		"failed twice":          {at("active", 2, time.Second, time.Second), false},
		"works in intervals":    {at("activating", 40, 15*time.Minute, time.Second), false},
		"gave up":               {at("failed", 5, time.Second, time.Second), false},
		"is no service":         {restarting(props{"ActiveState": "active"}, time.Hour), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

// TestSlowLoop: failures whose pace is slower than a minute are a loop until the unit has run for
// twice that pace. Failures that are far apart are not a loop.
func TestSlowLoop(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		ago  []time.Duration
		want bool
	}{
		"fails every three minutes": {[]time.Duration{8 * time.Minute, 5 * time.Minute, 2 * time.Minute}, true},
		"counts the last ones": {[]time.Duration{90 * time.Hour, 8 * time.Minute, 5 * time.Minute, 2 * time.Minute},
			true},
		"stays up now":              {[]time.Duration{13 * time.Minute, 10 * time.Minute, 7 * time.Minute}, false},
		"fast, and stays up":        {[]time.Duration{74 * time.Second, 72 * time.Second, 70 * time.Second}, false},
		"failed again after a week": {[]time.Duration{170 * time.Hour, 168 * time.Hour, time.Minute}, false},
		"fails every half hour":     {[]time.Duration{61 * time.Minute, 31 * time.Minute, time.Minute}, false},
		"failed twice":              {[]time.Duration{4 * time.Minute, time.Minute}, false},
		"never failed":              {nil, false},
	} {
		var failed []time.Time
		for _, d := range c.ago {
			failed = append(failed, now.Add(-d))
		}
		if slowLoop(failed, now) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	log := "1764103815.250000 shop systemd[1]: shop.service: Failed with result 'exit-code'.\n" +
		"1764103999.500000 shop systemd[1]: shop.service: Failed with result 'exit-code'.\n-- Boot 1 --\n"
	got := failures(log)
	if len(got) != 2 || got[0] != time.UnixMicro(1764103815250000) || got[1] != time.UnixMicro(1764103999500000) {
		t.Errorf("%v", got)
	}
}
