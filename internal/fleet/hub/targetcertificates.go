package hub

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/lang"
)

// targetCertificates contains the certificates for services of a target. Its key is the target's
// ID.
type targetCertificates struct {
	Target   fleet.TargetID   `json:"target"`
	Name     string           `json:"name"` // at the last change
	Approved []approvedNames  `json:"approved,omitempty"`
	Issued   []issuedToTarget `json:"issued,omitempty"`
	Barred   []barredName     `json:"barred,omitempty"`
}

// approvedNames is an approval by a user: the target may get certificates with exactly this set of
// names, until the approval is withdrawn.
type approvedNames struct {
	Names []string `json:"names"`
	By    string   `json:"by"`
	At    int64    `json:"at"` // seconds since 1970
}

// issuedToTarget describes a certificate that a hub issued.
type issuedToTarget struct {
	Serial string   `json:"serial"`
	Names  []string `json:"names"`
	At     int64    `json:"at"`    // seconds since 1970
	Until  int64    `json:"until"` // seconds since 1970
	Hub    string   `json:"hub"`   // the name of the issuing hub
	By     string   `json:"by"`    // "the policy", or the user who approved it
	// RevokedBy is the user who revoked it, or "".
	RevokedBy string `json:"forbidden,omitempty"`
}

// Limits for one target.
const (
	maxIssued       = 64 // not expired
	maxApproved     = 32
	maxHeldServices = 8
)

// A target may send certifyBurst requests for certificates at once, and then one per certifyEvery.
const (
	certifyBurst = 10
	certifyEvery = 5 * time.Minute
)

func certifyPaces() targetLimiter {
	return targetLimiter{every: rate.Every(certifyEvery), burst: certifyBurst}
}

// approvedBy returns the user who approved exactly these names.
func (s targetCertificates) approvedBy(names []string) (by string, ok bool) {
	for _, a := range s.Approved {
		if slices.Equal(a.Names, names) {
			return a.By, true
		}
	}
	return "", false
}

// current returns a copy without expired certificates.
func (s targetCertificates) current(now time.Time) targetCertificates {
	s.Issued = slices.DeleteFunc(slices.Clone(s.Issued), func(c issuedToTarget) bool { return c.Until <= now.Unix() })
	return s
}

// judgeCertificate decides about a request for a certificate. An approval of exactly these names
// replaces the decision Hold, but no other. A suspect target never gets a certificate without a
// decision of a user.
func (h *Hub) judgeCertificate(p fleet.RequestPolicy, t fleet.Target, names []string) (v fleet.Verdict, why string) {
	for _, n := range names {
		if h.ofHubs(n) {
			return fleet.Reject, fmt.Sprintf("%s belongs to a hub", n)
		}
	}
	v, why = judgeNames(p.Certificates, lang.Target{Name: t.Name, Labels: t.Labels}, names)
	if t.Suspect != nil && v == fleet.Allow {
		v, why = fleet.Hold, "the target is suspect"
	}
	s, _, _ := h.targetCertificates.get(string(t.ID))
	if because := s.barred(names); because != "" && v == fleet.Allow {
		v, why = fleet.Hold, because
	}
	if by, ok := s.approvedBy(names); ok && v == fleet.Hold && t.Suspect == nil {
		return fleet.Allow, by
	}
	if v == fleet.Allow {
		why = "the policy"
	}
	return v, why
}

// changeServed changes the record of a target, without expired certificates.
func (h *Hub) changeServed(ctx context.Context, t fleet.Target, change func(*targetCertificates) error) error {
	for {
		_, err := h.targetCertificates.change(ctx, string(t.ID), func(s *targetCertificates) error {
			*s = s.current(h.now())
			s.Name = t.Name
			return change(s)
		})
		if !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
		s := targetCertificates{Target: t.ID, Name: t.Name}
		if err := change(&s); err != nil {
			return err
		}
		if err := h.targetCertificates.put(ctx, string(t.ID), s, 0); !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// certify issues the certificate of a service. The record is durable before the target gets it.
func (h *Hub) certify(ctx context.Context, t fleet.Target, a fleet.Request, by string) (fleet.RequestAnswer, error) {
	key, err := pki.ParseRequest([]byte(a.Signing))
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	if id, err := pki.TargetIDOf(key); err != nil {
		return fleet.RequestAnswer{}, err
	} else if _, _, known := h.targets.get(string(id)); known {
		return fleet.RequestAnswer{},
			errors.New("cannot issue a certificate of a service for the key of a target: use a separate key for the service")
	}
	c, err := h.services.Issue(key, a.Names, h.now())
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	parent, err := h.services.Certificate()
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	if err := h.keepIssued(ctx, t, c, a.Names, by); err != nil {
		return fleet.RequestAnswer{}, err
	}
	return fleet.RequestAnswer{Answer: fleet.RequestDone, Certificate: string(pki.EncodeCertificates(c, parent))}, nil
}

func (h *Hub) keepIssued(ctx context.Context, t fleet.Target, c *x509.Certificate, names []string, by string) error {
	one := issuedToTarget{Serial: pki.SerialOf(c), Names: names, At: h.now().Unix(), Until: c.NotAfter.Unix(), Hub: h.set.Name, By: by}
	err := h.changeServed(ctx, t, func(s *targetCertificates) error {
		if len(s.Issued) >= maxIssued {
			return fmt.Errorf("%w: %s has %d certificates that have not expired, which is the limit", fleet.ErrDenied, t.Name, maxIssued)
		}
		s.Issued = append(s.Issued, one)
		return nil
	})
	if err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.ServiceCertified, Target: t.ID, By: by,
		Text: fmt.Sprintf("%v, serial %s", names, one.Serial)})
}

// approveNames lets a target get certificates with exactly these names, now and later, and notifies
// its agent.
func (h *Hub) approveNames(ctx context.Context, by access.Principal, t fleet.Target, names []string) error {
	err := h.changeServed(ctx, t, func(s *targetCertificates) error {
		s.unbar(names)
		if _, there := s.approvedBy(names); there {
			return nil
		}
		if len(s.Approved) >= maxApproved {
			return fmt.Errorf("cannot approve more names for %s: it has %d approvals, which is the limit", t.Name, maxApproved)
		}
		s.Approved = append(s.Approved, approvedNames{Names: names, By: by.Name, At: h.now().Unix()})
		return nil
	})
	if err != nil {
		return err
	}
	h.note(ctx, fleet.HubEvent{Kind: fleet.Approved, Target: t.ID, By: by.Name, Text: fmt.Sprintf("certificates for %v", names)})
	if err := h.exchange.Tell(t.ID, fleet.MessageCertified, nil); err != nil && !errors.Is(err, fleet.ErrOffline) {
		h.warn(err.Error()) // the agent asks again later
	}
	return nil
}

// Certificates returns the unexpired certificates for services, and the approvals.
func (h *Hub) Certificates(context.Context) (document.CertificatePage, error) {
	p := document.CertificatePage{Certificates: []document.Certificate{}, Approved: []document.CertificateApproval{}}
	for _, s := range h.targetCertificates.values() {
		t, _, _ := h.targets.get(string(s.Target))
		name := cmp.Or(t.Name, s.Name)
		for _, c := range s.current(h.now()).Issued {
			p.Certificates = append(p.Certificates, document.Certificate{Target: s.Target, Name: name, Serial: c.Serial, Names: c.Names, At: c.At * 1e9, Until: c.Until * 1e9, Hub: c.Hub, By: c.By, RevokedBy: c.RevokedBy})
		}
		for _, a := range s.Approved {
			p.Approved = append(p.Approved, document.CertificateApproval{Target: s.Target, Name: name, Names: a.Names, By: a.By, At: a.At * 1e9})
		}
	}
	slices.SortFunc(p.Certificates, func(a, b document.Certificate) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Names, b.Names), cmp.Compare(a.Until, b.Until))
	})
	slices.SortFunc(p.Approved, func(a, b document.CertificateApproval) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Names, b.Names))
	})
	return p, nil
}

// pruneServed removes expired certificates from the records. All hubs do so: the first one wins.
func (h *Hub) pruneServed(ctx context.Context) error {
	for _, s := range h.targetCertificates.values() {
		left := s.current(h.now())
		if len(left.Issued) == len(s.Issued) {
			continue
		}
		_, rev, _ := h.targetCertificates.get(string(s.Target))
		var err error
		if len(left.Issued)+len(left.Approved)+len(left.Barred) == 0 {
			err = h.stores["settings"].Delete(ctx, h.targetCertificates.prefix+string(s.Target), rev)
		} else {
			err = h.targetCertificates.put(ctx, string(s.Target), left, rev)
		}
		if err != nil && !errors.Is(err, fleet.ErrConflict) && !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return nil
}
