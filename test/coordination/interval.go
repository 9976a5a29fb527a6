package coordination

import (
	"fmt"
	"strings"
	"time"
)

// Interval is a time in which a host worked with a slot.
type Interval struct {
	Host     string
	From, To time.Duration
}

// TooMany returns the times at which more than n hosts worked.
func TooMany(all []Interval, n int) (out []string) {
	for _, a := range all {
		hosts := map[string]bool{}
		var names []string
		for _, b := range all {
			if b.From <= a.From && a.From < b.To {
				hosts[b.Host] = true
				names = append(names, fmt.Sprintf("%s from %s to %s", b.Host, b.From, b.To))
			}
		}
		if len(hosts) > n {
			out = append(out, fmt.Sprintf("at %s, %d hosts worked: %s", a.From, len(hosts), strings.Join(names, "; ")))
		}
	}
	return out
}
