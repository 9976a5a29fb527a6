package elastic

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
)

// countHubs returns a number of hubs as text.
func countHubs(n int) string {
	if n == 1 {
		return "1 hub"
	}
	return fmt.Sprintf("%d hubs", n)
}

// join returns names as text.
func join(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// percent returns a part as text.
func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// ago returns the time since a hub was good, for a text.
func (v *view) ago(h Hub) string {
	ms := v.now - max(v.Good[h.Name], v.Watching)
	return duration.Text((time.Duration(ms) * time.Millisecond).Round(time.Second))
}

// problem describes why a hub is not good.
func (v *view) problem(h Hub) string {
	switch {
	case !v.fresh(h):
		return fmt.Sprintf("has not answered for %s", v.ago(h))
	case !v.roomy(h):
		return fmt.Sprintf("has had less than %s of its disk free for %s", percent(v.Policy.DiskFree), v.ago(h))
	}
	return fmt.Sprintf("has lacked data for %s", v.ago(h))
}
