package hub_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// A change of labels is an event that rules can select, because labels decide what a target gets. A
// refused change is none.
func TestLabelsAreAnEvent(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	w.sharer("web1", nil)
	var done document.Done
	w.ask("POST", "/v1/targets/web1/label", document.LabelRequest{Set: map[string]string{"role": "web", "env": "prod"},
		Remove: []string{"old"}}, &done)
	until(t, "an event of the labels", func() (string, bool) {
		var page document.EventPage
		w.ask("GET", "/v1/events?kind="+string(fleet.Labelled), nil, &page)
		if len(page.Events) != 1 {
			return "no event", false
		}
		e := page.Events[0]
		return e.Text, e.By == "root" && strings.Contains(e.Text, "env=prod old- role=web")
	})
}
