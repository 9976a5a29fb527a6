package agent

import (
	"testing"
	"time"
)

// The zone is read again after a minute, because an administrator can change it while the agent runs.
func TestZoneIsReadAgain(t *testing.T) {
	var z reread[string]
	name, reads := "Europe/Berlin", 0
	read := func() string { reads++; return name }
	if got := z.at(0, nil); got != "" {
		t.Errorf("without a reader: %q", got)
	}
	for _, c := range []struct {
		mono  time.Duration
		zone  string
		reads int
	}{{0, "Europe/Berlin", 1}, {time.Second, "Europe/Berlin", 1}, {59 * time.Second, "Europe/Berlin", 1},
		{time.Minute, "UTC", 2}, {61 * time.Second, "UTC", 2}} {
		if got := z.at(c.mono, read); got != c.zone || reads != c.reads {
			t.Errorf("after %s: %q, %d reads", c.mono, got, reads)
		}
		name = "UTC"
	}
}
