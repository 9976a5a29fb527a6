package member

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// answering simulates the connection to a hub that sends content.
type answering struct {
	fleet.Link
	from *content.Server
}

func (a answering) Ask(_ context.Context, word string, body []byte) ([]byte, error) {
	if word != fleet.MessageContent {
		return nil, fleet.ErrNoHub
	}
	return a.from.Answer(string(body))
}

// TestRoom: only bundles that are no longer needed are deleted to make room for assigned ones.
func TestRoom(t *testing.T) {
	open := func(limit int64) *content.Store {
		s, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", limit)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hub := open(0)
	m := &Member{
		cfg: Config{Now: time.Now}, identity: &pki.Identity{}, revoked: &pki.Revocations{}, store: open(800),
		link: answering{from: &content.Server{Store: hub}},
	}
	part := func(text string) fleet.Assigned {
		b, err := hub.Add(func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat(text, 500)); return err })
		if err != nil {
			t.Fatal(err)
		}
		return fleet.Assigned{Bundle: b}
	}
	first, second := part("1"), part("2")
	fetch := func(as fleet.Assigned) error { return m.Fetch(t.Context(), fleet.Assignment{Root: as}) }
	if err := fetch(first); err != nil {
		t.Fatal(err)
	}
	if err := fetch(second); !errors.Is(err, content.ErrFull) {
		t.Errorf("nobody said what may go: %v", err)
	}
	if err := m.Retain([]string{first.Bundle.Digest}); err != nil {
		t.Fatal(err)
	}
	if err := fetch(second); !errors.Is(err, content.ErrFull) || !m.store.Has(first.Bundle) {
		t.Errorf("what is needed gave way: %v", err)
	}
	m.retained = map[string]bool{}
	if err := fetch(second); err != nil || m.store.Has(first.Bundle) || !m.store.Has(second.Bundle) {
		t.Error(err)
	}
}
