package member

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// learnFor is how long a hub may take for a small answer: where the others are, or content.
const learnFor = 20 * time.Second

// listen hears where hubs are, when they say and whenever one is reached.
func (m *Member) listen(ctx context.Context, l fleet.Link) error {
	m.mu.Lock()
	m.link = l
	m.mu.Unlock()
	err := l.Serve(fleet.WordHubs, func(_ context.Context, body []byte) ([]byte, error) { return nil, m.learn(ctx, body) })
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
	asking, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	body, err := l.Ask(asking, fleet.WordHubs, nil)
	if err == nil {
		err = m.learn(ctx, body)
	}
	if err != nil && !errors.Is(err, fleet.ErrNoHub) && asking.Err() == nil {
		m.cfg.Warn("cannot learn where hubs are: " + err.Error())
	}
}

// learn keeps what a hub says.
func (m *Member) learn(ctx context.Context, body []byte) error {
	var h fleet.Hubs
	if err := json.Unmarshal(body, &h); err != nil {
		return err
	}
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	next, err := m.directory.Learn(m.identity, h.Hubs, h.Buses, []byte(h.Signers))
	m.identity = next
	m.mu.Unlock()
	err = errors.Join(err, m.distrust(h.Revocations))
	if m.orphaned() {
		go m.adopt(ctx)
	}
	return err
}

// distrust keeps which hubs are not believed any more.
func (m *Member) distrust(revocations [][]byte) error {
	keys := m.keys()
	var errs []error
	var news [][]byte
	for _, e := range revocations {
		is, err := m.revoked.Add(e, keys)
		if errs = append(errs, err); is {
			news = append(news, e)
		}
	}
	if len(news) > 0 {
		m.mu.Lock()
		m.known.Revocations = append(m.known.Revocations, news...)
		errs = append(errs, m.directory.SaveKnown(m.known))
		m.mu.Unlock()
	}
	return errors.Join(errs...)
}

// orphaned tells whether the hub that made this target's certificate is not believed any
// more: then no hub believes the certificate, but for getting another.
func (m *Member) orphaned() bool {
	id := m.who()
	_, err := id.Trust(m.revoked).Verify(id.Chain(), id.Certificate().NotAfter, pki.TargetKind)
	return errors.Is(err, pki.ErrRevoked)
}

const (
	// adoptWithin is how long targets of one hub wait before they ask for another
	// certificate, by chance, so that they do not come all at once.
	adoptWithin = 10 * time.Second
	// askEvery is between two times that a target asks for one.
	askEvery = time.Minute
)

// adopt gets a certificate of another hub, and asks until it has one.
func (m *Member) adopt(ctx context.Context) {
	if !m.adopting.CompareAndSwap(false, true) {
		return
	}
	defer m.adopting.Store(false)
	for wait := rand.N(adoptWithin); ; wait = askEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if m.another(ctx); !m.orphaned() {
			return
		}
	}
}

// refused asks for another certificate, now and then: the one that there is may be of a
// hub that nobody believes any more.
func (m *Member) refused(ctx context.Context) {
	m.mu.Lock()
	soon := !m.asked.IsZero() && m.cfg.Now().Sub(m.asked).Abs() < askEvery
	if !soon {
		m.asked = m.cfg.Now()
	}
	m.mu.Unlock()
	if !soon {
		m.another(ctx)
	}
}

func (m *Member) another(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	if err := m.Renew(ctx); err != nil && ctx.Err() == nil {
		m.cfg.Warn("cannot get another certificate: " + err.Error())
	}
}

// buses are the addresses of all hubs that are known now.
func (m *Member) buses() []string { return m.who().Buses }
