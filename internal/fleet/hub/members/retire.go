package members

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
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// retireHub removes a hub from the fleet. The leader first copies all data of the hub to other
// hubs, and then revokes it. A lost hub is revoked here and at once, because it may be the leader.
func (h *Retirement) retireHub(ctx context.Context, name, by string, r document.HubRetirement) error {
	m, _, there := h.Records.Members.Get(name)
	l, rev, goes := h.Records.Leaving.Get(name)
	if _, _, lost := h.Records.Lost.Get(name); lost {
		return h.retireLost(ctx, name, records.Leaving{By: by, Reason: r.Reason, At: h.Now().Unix()})
	}
	switch {
	case !there && !(goes && r.Lost && !l.Lost):
		return pki.Refuse(http.StatusNotFound, "cannot find a hub with the name %.60q", name)
	case there && len(h.Records.Members.Values()) == 1:
		return pki.Refuse(http.StatusConflict, "cannot retire %s: it is the only hub", name)
	case m.Authority && !slices.ContainsFunc(h.Records.Members.Values(),
		func(o records.Member) bool { return o.Name != name && o.Authority }):
		return pki.Refuse(http.StatusConflict,
			"cannot retire %s: it is the only hub with the key of the fleet CA. "+
				"Copy its directory authority/ into the directory of another hub, and restart that hub", name)
	case r.Lost && name == h.Hub:
		return pki.Refuse(http.StatusConflict,
			"cannot retire %s as lost: this request reached it. Send the request to another hub", name)
	}
	if err := h.status.lacksMost("retire " + name); err != nil {
		return err
	}
	l = records.Leaving{By: by, Reason: r.Reason, At: h.Now().Unix(), Lost: r.Lost}
	if err := h.Records.Leaving.Put(ctx, name, l, rev); err != nil {
		return cmp.Or(h.status.lacksMost("retire "+name), err) // other hubs may have failed meanwhile
	}
	if err := h.Records.Members.Remove(ctx, name); err != nil || !r.Lost {
		return err
	}
	return h.distrust(ctx, name, l)
}

// distrust revokes the certificates of a hub and ends the connection with it.
func (h *Retirement) distrust(ctx context.Context, name string, l records.Leaving) error {
	var signer *x509.Certificate
	if text, _, there := h.Records.Signers.Get(name); there {
		certs, err := pki.ParseCertificates(text)
		if err != nil {
			return err
		}
		signer = certs[0]
	}
	if h.isDistrusted(name) {
		return nil
	}
	if err := h.Registrar().Withdraw(ctx, name, signer, l.By, l.Reason); err != nil {
		return err
	}
	h.sendHubAddresses()
	go h.sever(h.Context(), name)
	return nil
}

// isDistrusted reports whether a hub is revoked.
func (h *core) isDistrusted(name string) bool {
	return h.Revoked.Revoked("", pki.Name{Fleet: h.Fleet, Kind: pki.HubKind, ID: name})
}

// withdraw completes the retirement of hubs. done means that the hubs in named have complete copies
// of all data, and no other hub has any. Lost hubs do not wait for done. Assignments that a retired
// hub signed are first signed again by this hub. It is called again until it succeeds.
func (h *Retirement) withdraw(ctx context.Context, fence uint64, named []string, done bool) error {
	var errs []error
	h.Records.Leaving.Each(func(name string, l records.Leaving, _ uint64) {
		if slices.Contains(named, name) || !done && !l.Lost {
			return
		}
		errs = append(errs, func() error {
			if err := errors.Join(h.signAnew(ctx, fence, name), h.distrust(ctx, name, l),
				h.Records.Signers.Remove(ctx, name)); err != nil {
				return fmt.Errorf("cannot revoke the retired hub %s: %w", name, err)
			}
			return h.Records.Leaving.Remove(ctx, name)
		}())
	})
	return errors.Join(errs...)
}

// signAnew signs the assignments of another hub again. Their content does not change.
func (h *Retirement) signAnew(ctx context.Context, fence uint64, name string) error {
	text, _, there := h.Records.Signers.Get(name)
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
	h.Records.Assignments.Each(func(_ string, g records.Assignment, _ uint64) {
		if slices.ContainsFunc(g.Signatures, func(s fleet.Signature) bool { return s.KeyID == fleet.KeyID(theirs) }) {
			all = append(all, g.Assignment)
		}
	})
	return h.Sign(ctx, fence, all)
}

// severAfter is the time for which a revoked hub may stay connected. A hub that leaves in order
// disconnects before.
const severAfter = 10 * time.Second

// sever ends the connection with a revoked hub. The bus cannot close a single connection between
// hubs, so this hub restarts if the connection remains. It does so only while the other hubs are a
// majority of the voters, because otherwise the store accepts no changes afterwards.
func (h *Retirement) sever(ctx context.Context, name string) {
	if h.peers == nil || name == h.Hub {
		return
	}
	for end := h.Now().Add(severAfter); h.joint().IsConnected(name); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
		if _, _, still := h.Records.Members.Get(name); h.Now().After(end) && !still && h.without(ctx, name) {
			h.SaveCache()
			h.Log("this hub restarts to end its connection with the revoked hub " + name)
			h.Restart()
			return
		}
	}
}

// without reports whether the connected hubs are a majority without the named one.
func (h *Retirement) without(ctx context.Context, name string) bool {
	peers, _ := h.joint().Peers(ctx)
	here := 0
	for _, p := range peers {
		if p.Reachable && p.Name != name {
			here++
		}
	}
	return here > len(peers)/2
}

// OnRevoked handles the revocation of a hub. It ignores other revocations.
func (h *Retirement) OnRevoked(r pki.Revocation) {
	n, err := pki.ParseName(r.Name)
	if err != nil || n.Kind != pki.HubKind {
		return
	}
	h.sendHubAddresses()
	go h.sever(h.Context(), n.ID)
}

// HandleRoutes registers the handler that removes hubs.
func (h *Retirement) HandleRoutes(t *api.Table) { api.Handle(t, route.RetireHub(), h.RetireHub) }

// RetireHub removes a hub from the fleet.
func (h *Retirement) RetireHub(ctx context.Context, by api.Caller, at route.HubName,
	r document.HubRetirement) (document.Done, error) {
	text := "%s is retired. It stops when the other hubs have all of its agents and data, and then its certificate is " +
		"revoked."
	if r.Lost {
		text = "%s is retired, and its certificate is revoked."
	}
	return api.Done(h.retireFor(ctx, by.Name, at.Hub, r), text, at.Hub)
}

func (h *Retirement) retireFor(ctx context.Context, by, name string, r document.HubRetirement) error {
	if err := h.retireHub(ctx, name, by, r); err != nil {
		if refused, ok := errors.AsType[*pki.Refusal](err); ok {
			return &api.Refusal{Status: refused.Status, Why: refused.Text, Hint: "List the hubs: fettle hub list"}
		}
		return err
	}
	h.Events().Note(ctx, fleet.HubEvent{Kind: fleet.TargetRetired, By: by,
		Text: fmt.Sprintf("the hub %s is retired: %s", name, r.Reason)})
	return nil
}

// retireLost ends the trust in a lost hub. The leader signs again everything that the lost hub
// signed.
func (h *Retirement) retireLost(ctx context.Context, name string, l records.Leaving) error {
	l.Lost = true
	_, rev, _ := h.Records.Leaving.Get(name)
	if err := h.Records.Leaving.Put(ctx, name, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return err
	}
	if err := h.distrust(ctx, name, l); err != nil {
		return err
	}
	return h.Records.Lost.Remove(ctx, name)
}

// leavingHubs returns the hubs that are retired and not lost, by name.
func (h *Retirement) leavingHubs() (names []string) {
	h.Records.Leaving.Each(func(name string, l records.Leaving, _ uint64) {
		if !l.Lost {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}
