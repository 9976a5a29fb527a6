package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/test/sample"
)

// moving are agents that know the addresses of all hubs.
type moving struct {
	mu    sync.Mutex
	hubs  []string
	since map[int]time.Time // by agent: the time since when it has no hub
	worst time.Duration     // the longest time without a hub
	ended []string          // warnings about connections that hubs ended
}

func (m *moving) warn(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.Contains(text, "connection to the hub ended") {
		m.ended = append(m.ended, text)
	}
}

func (m *moving) addresses() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.hubs)
}

func (m *moving) know(p document.HubPage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hubs = nil
	for _, h := range p.Hubs {
		m.hubs = append(m.hubs, h.BusURLs...)
	}
}

func (m *moving) note(agent int, up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, down := m.since[agent]; up && down {
		m.worst = max(m.worst, time.Since(since))
		delete(m.since, agent)
	} else if !up {
		m.since[agent] = time.Now()
	}
}

// agentsOf returns the number of agents of each hub, as a hub reports them.
func agentsOf(by *one) (map[string]int, error) {
	var p document.HubPage
	err := by.ask("GET", "/v1/hubs", nil, &p)
	out := map[string]int{}
	for _, h := range p.Hubs {
		out[h.Name] = h.Agents
	}
	return out, err
}

// TestAgentsAreBalanced: new hubs get agents of the first one, and a hub that is retired moves its agents before it
// stops. All hubs report the same numbers.
func TestAgentsAreBalanced(t *testing.T) {
	sample.Group(t, 2, 10)
	t.Parallel()
	const agents = 40
	w := newSeveral(t)
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Uses: agents}, &tok)
	w.api = w.hubs[0].api
	m := &moving{since: map[int]time.Time{}}
	for i := range agents {
		id, first := w.agent(fmt.Sprintf("web%d", i), tok.Secret)
		_ = first.Close()
		l, err := bus.Dial(t.Context(), bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, Where: m.addresses,
			TLS: idTLS(id), Warn: m.warn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		l.Changes(func(up bool) { m.note(i, up) })
	}
	sees := func(by *one, what string, is func(n map[string]int) bool) {
		t.Helper()
		until(t, what+" for "+by.name, func() (error, bool) {
			n, err := agentsOf(by)
			return fmt.Errorf("%v %w", n, err), is(n)
		})
	}
	sees(w.hubs[0], "all agents are connected", func(n map[string]int) bool { return n["hub1"] == agents })
	w.join("hub2")
	w.kept(w.hubs[0], 2)
	w.join("hub3")
	m.know(w.kept(w.hubs[0], 3))
	for _, by := range w.hubs {
		sees(by, "the hubs have similar numbers of agents", func(n map[string]int) bool {
			return n["hub1"]+n["hub2"]+n["hub3"] == agents && max(n["hub1"], n["hub2"], n["hub3"]) <= agents/3+agents/30+6
		})
	}
	m.mu.Lock()
	m.worst, m.ended = 0, nil // a hub that becomes one of several restarts
	m.mu.Unlock()

	w.hubs[0].must("POST", "/v1/hubs/hub2/retire", document.HubRetirement{Reason: "less load"}, &document.Done{})
	var p document.HubPage
	w.hubs[0].must("GET", "/v1/hubs", nil, &p)
	m.know(p)
	select {
	case err := <-w.hubs[1].ended:
		if !errors.Is(err, hub.ErrRetired) {
			t.Error(err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("hub2 does not stop", w.hubs[1].warn)
	}
	for _, by := range []*one{w.hubs[0], w.hubs[2]} {
		sees(by, "all agents are connected to other hubs", func(n map[string]int) bool {
			return n["hub1"]+n["hub3"] == agents
		})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.worst > 30*time.Second || len(m.since) > 0 || len(m.ended) > 0 {
		t.Errorf("an agent had no hub for %s, %d have none, and a hub stopped before its agents moved: %q", m.worst,
			len(m.since), m.ended)
	}
	t.Logf("agents had no hub for at most %s", m.worst.Round(time.Millisecond))
}
