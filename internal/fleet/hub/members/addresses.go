package members

import (
	"context"
	"crypto/x509"
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// OnHubs sends an agent the addresses of all hubs, the certificates of their signers and their
// revocations. An agent accepts only certificates of its fleet CA.
func (h *HubSet) OnHubs(context.Context, fleet.TargetID, []byte) ([]byte, error) {
	return h.hubAddressesText()
}

func (h *core) hubAddressesText() ([]byte, error) {
	certs, err := h.SignerCertificates(h.Context())
	if err != nil {
		return nil, err
	}
	hubs, buses := h.Addresses()
	return json.Marshal(fleet.Hubs{HubURLs: hubs, BusURLs: buses, Signers: string(pki.EncodeCertificates(certs...)),
		Revocations: h.Revoked.OfHubs()})
}

// sendHubAddresses sends the addresses to all agents that are connected to this hub.
func (h *core) sendHubAddresses() {
	text, err := h.hubAddressesText()
	if err != nil {
		h.Log("cannot send the addresses of hubs to agents: " + err.Error())
		return
	}
	for _, id := range h.Exchange().Connected() {
		if err := h.Exchange().Tell(id, fleet.MessageHubs, text); err != nil {
			h.Log(err.Error())
			return
		}
	}
}

// OnSigner sends the changed list of signers to agents, and empties the cache of keys.
func (h *HubSet) OnSigner(string, []byte, uint64, bool) {
	h.ForgetKeys()
	select {
	case <-h.Filled:
		h.sendHubAddresses()
	default: // the mirror reads existing entries
	}
}

// SignerCertificates returns the certificates of the signing keys of all hubs, this one first.
func (h *core) SignerCertificates(context.Context) ([]*x509.Certificate, error) {
	own, err := h.Keys.Signer()
	if err != nil {
		return nil, err
	}
	all := []*x509.Certificate{own}
	for _, text := range h.Records.Signers.Values() {
		certs, err := pki.ParseCertificates(text)
		if err != nil {
			return nil, err
		}
		for _, c := range certs {
			if !c.Equal(own) {
				all = append(all, c)
			}
		}
	}
	return all, nil
}
