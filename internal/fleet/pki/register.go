package pki

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// serialsKept is the number of serials that are recorded for each target. A target cannot have more
// valid certificates: they live for a day, and are renewed after two thirds of it.
const serialsKept = 8

// settling is the time for which a name is reserved for a target that is not stored yet.
const settling = time.Minute

// holder is the owner of a name.
type holder struct {
	Target fleet.TargetID `json:"target"`
	At     int64          `json:"at"` // seconds since 1970
}

// register stores a new target, or returns the target that its key already has.
func (r *Registrar) register(ctx context.Context, t fleet.Target, now time.Time) (entry[fleet.Target], error) {
	had, err := load[fleet.Target](ctx, r.Targets, string(t.ID))
	if err != nil || had.rev != 0 {
		return had, err
	}
	if err := r.reserve(ctx, t.Name, t.ID, now); err != nil {
		return had, err
	}
	if err := store(ctx, r.Targets, string(t.ID), t, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return had, err
	}
	got, err := load[fleet.Target](ctx, r.Targets, string(t.ID))
	if err != nil {
		return got, err
	}
	// If this was slow, another target may have the name by now.
	if err := r.reserve(ctx, t.Name, t.ID, now); err != nil {
		return got, errors.Join(err, r.Targets.Delete(ctx, string(t.ID), got.rev))
	}
	return got, nil
}

// reserve reserves a name for a target. It never takes the name of a target in the fleet.
func (r *Registrar) reserve(ctx context.Context, name string, id fleet.TargetID, now time.Time) error {
	key := "name/" + name
	for {
		had, err := load[holder](ctx, r.Names, key)
		if err != nil || had.value.Target == id {
			return err
		}
		if had.rev != 0 {
			if err := r.free(ctx, name, had.value, now); err != nil {
				return err
			}
		}
		err = store(ctx, r.Names, key, holder{id, now.Unix()}, had.rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// free returns a Refusal if a name is in use.
func (r *Registrar) free(ctx context.Context, name string, h holder, now time.Time) error {
	t, err := load[fleet.Target](ctx, r.Targets, string(h.Target))
	if err != nil {
		return err
	}
	gone := t.value.Standing == fleet.Retired || t.value.Standing == fleet.Revoked || t.value.Name != name
	if t.rev == 0 && now.Before(time.Unix(h.At, 0).Add(settling)) || t.rev != 0 && !gone {
		return refuse(conflict,
			"cannot enrol %q: there is a target of that name. Choose another, or retire that one first with fettle target retire %s",
			name,
			name)
	}
	return nil
}

// answer returns a certificate, or its refusal, depending on the standing of the target.
func (r *Registrar) answer(ctx context.Context, t entry[fleet.Target], public crypto.PublicKey,
	n AuditRecord) (Answer, error) {
	a := Answer{Format: answerFormat, ID: t.value.ID, Name: t.value.Name, Now: r.Now().UnixNano()}
	switch t.value.Standing {
	case fleet.Active:
	case fleet.Pending:
		a.Pending = fmt.Sprintf("an operator must approve the target %s (%s) first: fettle target approve %s", a.Name, a.ID,
			a.ID)
		return a, nil
	default:
		return Answer{}, refuse(forbidden,
			"cannot issue a certificate to the target %s: it is %s. Enrol the host again with a new token: fettle agent enrol --again",
			a.ID, t.value.Standing)
	}
	issuer, err := r.Hub.Issuer()
	if err != nil {
		return Answer{}, err
	}
	cert, err := issuer.Target(public, t.value.ID,
		Claims{Name: t.value.Name, Labels: t.value.Labels, Fleet: t.value.Fleet}, r.Now())
	if err != nil {
		return Answer{}, err
	}
	n.Text = fmt.Sprintf("certificate %s for %s until %s", SerialOf(cert), t.value.Name,
		cert.NotAfter.UTC().Format(time.RFC3339))
	if err := r.note(ctx, n); err != nil {
		return Answer{}, err
	}
	if err := r.remember(ctx, t, SerialOf(cert)); err != nil {
		return Answer{}, err
	}
	a.Certificates = string(EncodeCertificates(cert, issuer.Certificate()))
	return r.believed(ctx, a)
}

// remember stores the serial of a certificate before the certificate is handed out, and only if the
// standing of the target has not changed.
func (r *Registrar) remember(ctx context.Context, t entry[fleet.Target], serial string) error {
	for {
		v := t.value
		v.Serials = append(slices.Clone(v.Serials), serial)
		v.Serials = v.Serials[max(0, len(v.Serials)-serialsKept):]
		err := store(ctx, r.Targets, string(v.ID), v, t.rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		standing := t.value.Standing
		if t, err = load[fleet.Target](ctx, r.Targets, string(v.ID)); err != nil {
			return err
		}
		if t.value.Standing != standing {
			return refuse(conflict, "cannot issue a certificate to the target %s: it has just been changed. Retry", v.ID)
		}
	}
}

// believed adds the trust of the target to its answer: the fleet CA, signers, addresses and
// revocations.
func (r *Registrar) believed(ctx context.Context, a Answer) (Answer, error) {
	authority, err := r.Hub.Authority()
	if err != nil {
		return Answer{}, err
	}
	signers, err := r.signers(ctx)
	if err != nil {
		return Answer{}, err
	}
	a.Authorities, a.Signers = string(EncodeCertificates(authority)), string(EncodeCertificates(signers...))
	a.HubURLs, a.BusURLs = r.HubURLs, r.BusURLs
	if r.Addresses != nil {
		a.HubURLs, a.BusURLs = r.Addresses()
	}
	if r.Revocations != nil {
		a.Revocations, a.Known = r.Revocations.Envelopes(), r.Revocations.Digest()
	}
	return a, nil
}

func (r *Registrar) signers(ctx context.Context) ([]*x509.Certificate, error) {
	if r.Signers != nil {
		return r.Signers(ctx)
	}
	own, err := r.Hub.Signer()
	return []*x509.Certificate{own}, err
}

func (r *Registrar) note(ctx context.Context, n AuditRecord) error {
	if r.Audit == nil {
		return nil
	}
	if err := r.Audit(ctx, n); err != nil {
		return fmt.Errorf("cannot do this without a record in the audit log: %w", err)
	}
	return nil
}
