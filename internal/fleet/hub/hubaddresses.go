package hub

import (
	"context"
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// onHubs sends an agent the addresses of all hubs, the certificates of their signers and their
// revocations. An agent accepts only certificates of its fleet CA.
func (h *Hub) onHubs(context.Context, fleet.TargetID, []byte) ([]byte, error) {
	return h.hubAddressesText()
}

func (h *Hub) hubAddressesText() ([]byte, error) {
	certs, err := h.signerCertificates(h.ctx)
	if err != nil {
		return nil, err
	}
	hubs, buses := h.hubAddresses()
	return json.Marshal(fleet.Hubs{HubURLs: hubs, BusURLs: buses, Signers: string(pki.EncodeCertificates(certs...)),
		Revocations: h.revoked.OfHubs()})
}

// sendHubAddresses sends the addresses to all agents that are connected to this hub.
func (h *Hub) sendHubAddresses() {
	text, err := h.hubAddressesText()
	if err != nil {
		h.warn("cannot send the addresses of hubs to agents: " + err.Error())
		return
	}
	for _, id := range h.exchange.Connected() {
		if err := h.exchange.Tell(id, fleet.MessageHubs, text); err != nil {
			h.warn(err.Error())
			return
		}
	}
}

// onSigner sends the changed list of signers to agents, and empties the cache of keys.
func (h *Hub) onSigner(string, []byte, uint64, bool) {
	h.ring.forget()
	select {
	case <-h.mirrorsFilled:
		h.sendHubAddresses()
	default: // the mirror reads existing entries
	}
}
