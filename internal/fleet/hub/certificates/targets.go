package certificates

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/lang/query"
)

// Limits for one target.
const (
	maxIssued   = 64 // not expired
	maxApproved = 32
	MaxPending  = 8
)

// Judge decides about a request for a certificate. An approval of exactly these names
// replaces the decision Hold, but no other. A suspect target never gets a certificate without a
// decision of a user.
func (i *Issuer) Judge(p fleet.RequestPolicy, t fleet.Target, names []string) (v fleet.Verdict, why string) {
	for _, n := range names {
		if i.ofHubs(n) {
			return fleet.Reject, fmt.Sprintf("%s belongs to a hub", n)
		}
	}
	v, why = judgeNames(p.Certificates, query.Target{Name: t.Name, Labels: t.Labels}, names)
	if t.Suspect != nil && v == fleet.Allow {
		v, why = fleet.Hold, "the target is suspect"
	}
	s, _, _ := i.Records.TargetCertificates.Get(string(t.ID))
	if because := s.WhyBarred(names); because != "" && v == fleet.Allow {
		v, why = fleet.Hold, because
	}
	if by, ok := s.ApprovedBy(names); ok && v == fleet.Hold && t.Suspect == nil {
		return fleet.Allow, by
	}
	if v == fleet.Allow {
		why = "the policy"
	}
	return v, why
}

// changeServed changes the record of a target, without expired certificates.
func (i *Issuer) changeServed(ctx context.Context, t fleet.Target,
	change func(*records.TargetCertificates) error) error {
	for {
		_, err := i.Records.TargetCertificates.Change(ctx, string(t.ID), func(s *records.TargetCertificates) error {
			*s = s.Current(i.Now())
			s.Name = t.Name
			return change(s)
		})
		if !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
		s := records.TargetCertificates{Target: t.ID, Name: t.Name}
		if err := change(&s); err != nil {
			return err
		}
		if err := i.Records.TargetCertificates.Put(ctx, string(t.ID), s, 0); !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// Certify issues the certificate of a service. The record is durable before the target gets it.
func (i *Issuer) Certify(ctx context.Context, t fleet.Target, a fleet.Request, by string) (fleet.RequestAnswer, error) {
	key, err := pki.ParseRequest([]byte(a.Signing))
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	if id, err := pki.TargetIDOf(key); err != nil {
		return fleet.RequestAnswer{}, err
	} else if _, _, known := i.Records.Targets.Get(string(id)); known {
		return fleet.RequestAnswer{},
			errors.New("cannot issue a certificate of a service for the key of a target: use a separate key for the service")
	}
	c, err := i.Services.Issue(key, a.Names, i.Now())
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	parent, err := i.Services.Certificate()
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	if err := i.keepIssued(ctx, t, c, a.Names, by); err != nil {
		return fleet.RequestAnswer{}, err
	}
	return fleet.RequestAnswer{Answer: fleet.RequestDone, Certificate: string(pki.EncodeCertificates(c, parent))}, nil
}

func (i *Issuer) keepIssued(ctx context.Context, t fleet.Target, c *x509.Certificate, names []string, by string) error {
	one := records.IssuedCertificate{Serial: pki.SerialOf(c), Names: names, At: i.Now().Unix(),
		Until: c.NotAfter.Unix(), Hub: i.Hub, By: by}
	err := i.changeServed(ctx, t, func(s *records.TargetCertificates) error {
		if len(s.Issued) >= maxIssued {
			return fmt.Errorf("%w: %s has %d certificates that have not expired, which is the limit", fleet.ErrDenied,
				t.Name, maxIssued)
		}
		s.Issued = append(s.Issued, one)
		return nil
	})
	if err != nil {
		return err
	}
	return i.Events.Record(ctx, fleet.HubEvent{Kind: fleet.ServiceCertified, Target: t.ID, By: by,
		Text: fmt.Sprintf("%v, serial %s", names, one.Serial)})
}

// ApproveNames lets a target get certificates with exactly these names, now and later, and notifies
// its agent.
func (i *Issuer) ApproveNames(ctx context.Context, by access.Principal, t fleet.Target, names []string) error {
	err := i.changeServed(ctx, t, func(s *records.TargetCertificates) error {
		s.Unbar(names)
		if _, there := s.ApprovedBy(names); there {
			return nil
		}
		if len(s.Approved) >= maxApproved {
			return fmt.Errorf("cannot approve more names for %s: it has %d approvals, which is the limit", t.Name, maxApproved)
		}
		s.Approved = append(s.Approved, records.ApprovedNames{Names: names, By: by.Name, At: i.Now().Unix()})
		return nil
	})
	if err != nil {
		return err
	}
	i.Events.Note(ctx, fleet.HubEvent{Kind: fleet.Approved, Target: t.ID, By: by.Name,
		Text: fmt.Sprintf("certificates for %v", names)})
	if err := i.Exchange.Tell(t.ID, fleet.MessageCertified, nil); err != nil && !errors.Is(err, fleet.ErrOffline) {
		i.Warn(err.Error()) // the agent asks again later
	}
	return nil
}

// Certificates returns the unexpired certificates for services, and the approvals.
func (i *Issuer) Certificates(context.Context) (document.CertificatePage, error) {
	p := document.CertificatePage{Format: document.CertificatePageFormat, Certificates: []document.Certificate{},
		Approved: []document.CertificateApproval{}}
	for _, s := range i.Records.TargetCertificates.Values() {
		t, _, _ := i.Records.Targets.Get(string(s.Target))
		name := cmp.Or(t.Name, s.Name)
		for _, c := range s.Current(i.Now()).Issued {
			p.Certificates = append(p.Certificates, document.Certificate{Target: s.Target, Name: name, Serial: c.Serial,
				Names: c.Names, At: c.At * 1e9, Until: c.Until * 1e9, Hub: c.Hub, By: c.By, RevokedBy: c.RevokedBy})
		}
		for _, a := range s.Approved {
			p.Approved = append(p.Approved, document.CertificateApproval{Target: s.Target, Name: name, Names: a.Names,
				By: a.By, At: a.At * 1e9})
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

// PruneIssued removes expired certificates from the records. All hubs do so: the first one wins.
func (i *Issuer) PruneIssued(ctx context.Context) error {
	for _, s := range i.Records.TargetCertificates.Values() {
		left := s.Current(i.Now())
		if len(left.Issued) == len(s.Issued) {
			continue
		}
		_, rev, _ := i.Records.TargetCertificates.Get(string(s.Target))
		var err error
		if len(left.Issued)+len(left.Approved)+len(left.Barred) == 0 {
			err = i.Records.TargetCertificates.RemoveAt(ctx, string(s.Target), rev)
		} else {
			err = i.Records.TargetCertificates.Put(ctx, string(s.Target), left, rev)
		}
		if err != nil && !errors.Is(err, fleet.ErrConflict) && !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return nil
}
