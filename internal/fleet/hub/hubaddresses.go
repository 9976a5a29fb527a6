package hub

import (
	"context"
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// onHubs tells an agent where hubs are, and whose signatures it may believe. It believes
// none that its authority does not vouch for.
func (h *Hub) onHubs(context.Context, fleet.TargetID, []byte) ([]byte, error) {
	return h.hubAddressesText()
}

func (h *Hub) hubAddressesText() ([]byte, error) {
	certs, err := h.signerCertificates(h.ctx)
	if err != nil {
		return nil, err
	}
	hubs, buses := h.hubAddresses()
	return json.Marshal(fleet.Hubs{Hubs: hubs, Buses: buses, Signers: string(pki.EncodeCertificates(certs...)), Revocations: h.revoked.OfHubs()})
}

// sendHubAddresses tells it to all agents that are connected here.
func (h *Hub) sendHubAddresses() {
	text, err := h.hubAddressesText()
	if err != nil {
		h.warn("cannot tell agents where hubs are: " + err.Error())
		return
	}
	for _, id := range h.exchange.Connected() {
		if err := h.exchange.Tell(id, fleet.WordHubs, text); err != nil {
			h.warn(err.Error())
			return
		}
	}
}

// onSigner tells agents of a hub that signs, and of one that does not any more, and
// has the keys looked at anew.
func (h *Hub) onSigner(string, []byte, uint64, bool) {
	h.ring.forget()
	select {
	case <-h.mirrorsFilled:
		h.sendHubAddresses()
	default: // all are being read
	}
}
