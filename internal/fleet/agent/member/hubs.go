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

// learnFor is the time limit of small requests to a hub, such as for the addresses of hubs.
const learnFor = 20 * time.Second

// listen updates the addresses of the hubs: after each connection, and whenever a hub sends them.
func (m *Member) listen(ctx context.Context, l fleet.Link) error {
	m.mu.Lock()
	m.link = l
	m.mu.Unlock()
	err := l.Serve(fleet.MessageHubs, func(_ context.Context, body []byte) ([]byte, error) {
		return nil,
			m.learn(ctx, body)
	})
	l.Changes(func(up bool) {
		if up {
			go m.ask(ctx)
		}
	})
	return err
}

// ask requests the addresses of all hubs. It is not an error if the hub is too old for this
// request.
func (m *Member) ask(ctx context.Context) {
	m.mu.Lock()
	l := m.link
	m.mu.Unlock()
	if l == nil {
		return
	}
	asking, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	body, err := l.Ask(asking, fleet.MessageHubs, nil)
	if err == nil {
		err = m.learn(ctx, body)
	}
	if err != nil && !errors.Is(err, fleet.ErrNoHub) && asking.Err() == nil {
		m.cfg.Warn("cannot get the addresses of the hubs: " + err.Error())
	}
}

// learn stores the addresses and revocations from a hub.
func (m *Member) learn(ctx context.Context, body []byte) error {
	var h fleet.Hubs
	if err := json.Unmarshal(body, &h); err != nil {
		return err
	}
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	next, err := m.directory.UpdateHubs(m.identity, h.HubURLs, h.BusURLs, []byte(h.Signers))
	m.identity = next
	m.mu.Unlock()
	err = errors.Join(err, m.distrust(h.Revocations))
	if m.orphaned() {
		go m.adopt(ctx)
	}
	return err
}

// distrust stores revocations of hubs.
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

// orphaned reports whether the hub that issued this target's certificate is revoked. Hubs then
// accept the certificate only for a request for a new one.
func (m *Member) orphaned() bool {
	id := m.who()
	_, err := id.Trust(m.revoked).Verify(id.Chain(), id.Certificate().NotAfter, pki.TargetKind)
	return errors.Is(err, pki.ErrRevoked)
}

const (
	// adoptWithin is the maximum random delay before a target replaces a certificate whose issuing
	// hub was revoked. Without it, all targets would send their requests at the same time.
	adoptWithin = 10 * time.Second
	// askEvery is the minimum time between two such requests.
	askEvery = time.Minute
)

// adopt requests a certificate from a different hub until it has one.
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

// refused requests a new certificate after hubs refused the current one, at most once per askEvery:
// its issuing hub could be revoked.
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
		m.cfg.Warn("cannot get a new certificate: " + err.Error())
	}
}

// buses returns the known addresses of all hubs for agent connections.
func (m *Member) buses() []string { return m.who().BusURLs }
