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
