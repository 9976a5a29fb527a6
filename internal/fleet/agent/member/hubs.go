package member

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// learnFor is how long a hub may take to say where the others are.
const learnFor = 20 * time.Second

// listen hears where hubs are, when they say and whenever one is reached.
func (m *Member) listen(ctx context.Context, l fleet.Link) error {
	m.mu.Lock()
	m.link = l
	m.mu.Unlock()
	err := l.Serve(fleet.WordHubs, func(_ context.Context, body []byte) ([]byte, error) { return nil, m.learn(body) })
	l.Changes(func(up bool) {
		if up {
			go m.ask(ctx)
		}
	})
	return err
}

// ask asks a hub where hubs are. One that does not know the question is no mistake.
func (m *Member) ask(ctx context.Context) {
	m.mu.Lock()
	l := m.link
	m.mu.Unlock()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	body, err := l.Ask(ctx, fleet.WordHubs, nil)
	if err == nil {
		err = m.learn(body)
	}
	if err != nil && !errors.Is(err, fleet.ErrNoHub) && ctx.Err() == nil {
		m.cfg.Warn("cannot learn where hubs are: " + err.Error())
	}
}

// learn keeps what a hub says.
func (m *Member) learn(body []byte) error {
	var h fleet.Hubs
	if err := json.Unmarshal(body, &h); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := m.folder.Learn(m.identity, h.Hubs, h.Buses, []byte(h.Signers))
	m.identity = next
	return err
}

// buses are the addresses of all hubs that are known now.
func (m *Member) buses() []string { return m.who().Buses }
