package fleet

import "testing"

// TestLoadText: the text shows the CPUs, and numbers that are higher than usual. Unknown numbers are omitted.
func TestLoadText(t *testing.T) {
	for want, l := range map[string]HubLoad{
		"-":       {CPU: -1, DiskFree: -1},
		"CPU 0%":  {DiskFree: 0.2},
		"CPU 13%": {Connections: 9, CPU: 0.126, EventLag: -1, Handshakes: -1, DiskFree: -1},
		"CPU 100%, 7 events behind, 2 handshakes wait, 19% of disk free": {CPU: 1, EventLag: 7, Handshakes: 2,
			DiskFree: 0.19},
		"0% of disk free": {CPU: -1},
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
