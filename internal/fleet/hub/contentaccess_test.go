package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host/mem"
)

// assigned waits until a target has an assignment with a number of modules.
func (s *sharer) assigned(modules int) (a fleet.Assignment) {
	s.t.Helper()
	have, _ := json.Marshal(fleet.Have{})
	until(s.t, "an assignment", func() (any, bool) {
		envelope, err := s.link.Ask(s.t.Context(), fleet.MessageAssignment, have)
		if err != nil || len(envelope) == 0 {
			return err, false
		}
		a, err = fleet.OpenAssignment(envelope, s.id.Keys(nil, time.Now(), time.Time{}))
		return err, err == nil && len(a.Modules) == modules
	})
	return a
}

// Over its agent connection, a target gets the content of its assignment and no other content.
func TestContentOverTheLink(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{
		"fettle.hcl":             "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\ntarget_group \"lb\" {\n  labels = { role = \"lb\" }\n  modules = [\"lb\"]\n}\n",
		"modules/web/module.hcl": "file \"/etc/web\" { content = \"web\" }\n",
		"modules/lb/module.hcl":  "file \"/etc/lb\" { content = \"lb\" }\n",
	})
	w.birth()
	w.start()
	web, lb := w.sharer("web1", map[string]string{"role": "web"}), w.sharer("lb1", map[string]string{"role": "lb"})
	mine, others := web.assigned(1).Modules[0].Bundle, lb.assigned(1).Modules[0].Bundle
	store, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", 0)
	if err != nil {
		t.Fatal(err)
	}
	f := content.Fetcher{Store: store, Attempts: 1, Pause: time.Millisecond, Bases: func() []string { return nil },
		FetchSmall: func(ctx context.Context, digest string) ([]byte, error) {
			return web.link.Ask(ctx, fleet.MessageContent, []byte(digest))
		}}
	if err := f.Fetch(t.Context(), mine); err != nil || !store.Has(mine) {
		t.Fatalf("its own: %v", err)
	}
	if err := f.Fetch(t.Context(), others); err == nil {
		t.Error("it has what is another's")
	}
	for name, digest := range map[string]string{"another's": others.Digest,
		"nobody's": "sha256:" + string(make([]byte, 64)), "none": "", "a path": "../" + mine.Digest} {
		if b, err := web.link.Ask(t.Context(), fleet.MessageContent, []byte(digest)); err == nil {
			t.Errorf("%s: got %q", name, b)
		}
	}
	if _, err := web.link.Ask(t.Context(), fleet.MessageContent, []byte(others.Digest)); !errors.Is(err,
		fleet.ErrNotFound) {
		t.Errorf("that another's is there shows: %v", err)
	}
}
