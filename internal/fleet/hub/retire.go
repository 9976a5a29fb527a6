package hub

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
)

// leaving is a hub that was retired and is still believed, under its name.
type leaving struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // seconds since 1970
	// Lost is one that nobody waits for.
	Lost bool `json:"lost,omitempty"`
}

// retireHub takes a hub out of the fleet. Whoever leads has the others get all that it
// keeps, and withdraws it then; one that is lost is withdrawn here, at once, since it may be
// the one that leads.
func (h *Hub) retireHub(ctx context.Context, name, by string, r document.HubRetirement) error {
	m, _, there := h.members.get(name)
	l, rev, goes := h.leaving.get(name)
	if _, _, lost := h.lost.get(name); lost {
		return h.retireLost(ctx, name, leaving{By: by, Reason: r.Reason, At: h.now().Unix()})
	}
	switch {
	case !there && !(goes && r.Lost && !l.Lost):
		return pki.Refuse(http.StatusNotFound, "cannot find a hub of the name %.60q", name)
	case there && len(h.members.values()) == 1:
		return pki.Refuse(http.StatusConflict, "cannot retire %s: it is the only hub", name)
	case m.Authority && !slices.ContainsFunc(h.members.values(), func(o Member) bool { return o.Name != name && o.Authority }):
		return pki.Refuse(http.StatusConflict, "cannot retire %s: it alone has the authority's key. Copy its directory authority/ into that of another hub, and start that one again", name)
	case r.Lost && name == h.set.Name:
		return pki.Refuse(http.StatusConflict, "cannot take %s for lost: it is the one that answers. Ask another hub", name)
	}
	if err := h.lacksMost("retire " + name); err != nil {
		return err
	}
	l = leaving{By: by, Reason: r.Reason, At: h.now().Unix(), Lost: r.Lost}
	if err := h.leaving.put(ctx, name, l, rev); err != nil {
		return cmp.Or(h.lacksMost("retire "+name), err) // they may have gone meanwhile
	}
	if err := h.members.remove(ctx, name); err != nil || !r.Lost {
		return err
	}
	return h.distrust(ctx, name, l)
}

// distrust has nobody believe a hub any more.
func (h *Hub) distrust(ctx context.Context, name string, l leaving) error {
	var signer *x509.Certificate
	if text, _, there := h.signers.get(name); there {
		certs, err := pki.ParseCertificates(text)
		if err != nil {
			return err
		}
		signer = certs[0]
	}
	if h.isDistrusted(name) {
		return nil
	}
	if err := h.registrar.Withdraw(ctx, name, signer, l.By, l.Reason); err != nil {
		return err
	}
	h.sendHubAddresses()
	go h.sever(h.ctx, name)
	return nil
}

// isDistrusted tells whether nobody is to believe a hub any more.
func (h *Hub) isDistrusted(name string) bool {
	return h.revoked.Revoked("", pki.Name{Fleet: h.set.Fleet, Kind: pki.HubKind, ID: name})
}

// withdraw ends what hubs leave behind that were retired. done tells that all is on those
// who are named, and nothing on any other; for one that is lost nobody waits. What a hub
// signed that is still given out is signed by this one first. It is done again until all of
// it is done.
func (h *Hub) withdraw(ctx context.Context, fence uint64, named []string, done bool) error {
	var errs []error
	h.leaving.each(func(name string, l leaving, _ uint64) {
		if slices.Contains(named, name) || !done && !l.Lost {
			return
		}
		errs = append(errs, func() error {
			if err := errors.Join(h.signAnew(ctx, fence, name), h.distrust(ctx, name, l), h.signers.remove(ctx, name)); err != nil {
				return fmt.Errorf("cannot end that %s is believed: %w", name, err)
			}
			return h.leaving.remove(ctx, name)
		}())
	})
	return errors.Join(errs...)
}

// signAnew signs the assignments that another hub signed: they stay what they are.
func (h *Hub) signAnew(ctx context.Context, fence uint64, name string) error {
	text, _, there := h.signers.get(name)
	if !there {
		return nil
	}
	certs, err := pki.ParseCertificates(text)
	if err != nil {
		return err
	}
	theirs, ok := certs[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil
	}
	var all []fleet.Assignment
	h.assignments.each(func(_ string, g assignmentRecord, _ uint64) {
		if slices.ContainsFunc(g.signatures, func(s fleet.Signature) bool { return s.KeyID == fleet.KeyID(theirs) }) {
			all = append(all, g.assignment)
		}
	})
	var errs []error
	for part := range slices.Chunk(all, together) {
		errs = append(errs, h.giveAll(ctx, fence, part))
	}
	return errors.Join(errs...)
}

// severAfter is how long a hub that is not believed any more may go on being connected: one
// that leaves does so by itself.
const severAfter = 10 * time.Second

// sever ends what connects this hub with one that is not believed any more. The bus does not
// end a single connection between hubs, so this one begins anew where there is one left: as
// soon as the others are most of those who vote, since nothing could be changed after that.
func (h *Hub) sever(ctx context.Context, name string) {
	if h.peers == nil || name == h.set.Name {
		return
	}
	for end := h.now().Add(severAfter); h.joint().IsConnected(name); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
		if _, _, still := h.members.get(name); h.now().After(end) && !still && h.without(ctx, name) {
			h.savePeerCache()
			h.warn("begins anew, to be rid of " + name)
			h.beginAnew()
			return
		}
	}
}

// without tells whether all goes on without a hub.
func (h *Hub) without(ctx context.Context, name string) bool {
	peers, _ := h.joint().Peers(ctx)
	here := 0
	for _, p := range peers {
		if p.Here && p.Name != name {
			here++
		}
	}
	return here > len(peers)/2
}

// onHubRevoked is told of a hub that nobody is to believe any more.
func (h *Hub) onHubRevoked(r pki.Revocation) {
	n, err := pki.ParseName(r.Name)
	if err != nil || n.Kind != pki.HubKind {
		return
	}
	h.sendHubAddresses()
	go h.sever(h.ctx, n.ID)
}

// beginAnew ends what runs, and begins it again in this process.
func (h *Hub) beginAnew() { h.againOnce.Do(func() { close(h.again) }) }
