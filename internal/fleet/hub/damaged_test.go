package hub_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// The read model is damaged while a hub runs. The hub reports it, creates the model again from the
// store, and answers as before.
func TestDamagedView(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	o := w.hubs[0]
	o.must("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"read"}}, &document.Done{})
	events := func() (p document.EventPage, err error) {
		err = o.ask("GET", "/v1/events?limit=1000", nil, &p)
		return p, err
	}
	before := until(t, "there are events", func() (document.EventPage, bool) {
		p, err := events()
		return p, err == nil && len(p.Events) > 0
	})
	for _, name := range []string{"view.db", "view.db-wal"} {
		file := filepath.Join(o.dir(), name)
		i, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.Repeat([]byte{0xa5}, int(i.Size())), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "it makes its model again", func() (error, bool) {
		_, err := events()
		o.mu.Lock()
		defer o.mu.Unlock()
		return err, slices.ContainsFunc(o.warn, func(s string) bool {
			return strings.Contains(s, "view.db, and creates it again from the store")
		})
	})
	until(t, "all events are there again", func() (int, bool) {
		p, err := events()
		return len(p.Events), err == nil && len(p.Events) >= len(before.Events) && p.Events[0] == before.Events[0]
	})
}
