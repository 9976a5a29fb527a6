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

// serialsKept is how many certificates of a target are remembered: more than it can have
// at a time, as they live for a day and are renewed after two thirds of it.
const serialsKept = 8

// settling is for how long a name is kept for a target that is not written yet.
const settling = time.Minute

// holder has a name.
type holder struct {
	Target fleet.TargetID `json:"target"`
	At     int64          `json:"at"` // seconds since 1970
}

// register writes a new target, or gives the one that its key is already.
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
	// Who was slow has lost the name to somebody else by now.
	if err := r.reserve(ctx, t.Name, t.ID, now); err != nil {
		return got, errors.Join(err, r.Targets.Delete(ctx, string(t.ID), got.rev))
	}
	return got, nil
}

// reserve takes a name for a target, from nobody who is in the fleet.
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

// free says why a name is not.
func (r *Registrar) free(ctx context.Context, name string, h holder, now time.Time) error {
	t, err := load[fleet.Target](ctx, r.Targets, string(h.Target))
	if err != nil {
		return err
	}
	gone := t.value.Standing == fleet.Retired || t.value.Standing == fleet.Revoked || t.value.Name != name
	if t.rev == 0 && now.Before(time.Unix(h.At, 0).Add(settling)) || t.rev != 0 && !gone {
		return refuse(conflict, "cannot enrol %q: there is a target of that name. Choose another, or retire that one first with fettle target retire %s", name, name)
	}
	return nil
}

// answer gives a target what its standing allows.
func (r *Registrar) answer(ctx context.Context, t entry[fleet.Target], public crypto.PublicKey, n Noted) (Answer, error) {
	a := Answer{Format: answerFormat, ID: t.value.ID, Name: t.value.Name, Now: r.Now().UnixNano()}
	switch t.value.Standing {
	case fleet.Active:
	case fleet.Pending:
		a.Pending = fmt.Sprintf("somebody has to approve the target %s (%s) first, with fettle target approve %s", a.Name, a.ID, a.ID)
		return a, nil
	default:
		return Answer{}, refuse(forbidden, "cannot give a certificate to the target %s: it is %s. Enrol the host anew, with a new token and fettle agent enrol --again", a.ID, t.value.Standing)
	}
	issuer, err := r.Hub.Issuer()
	if err != nil {
		return Answer{}, err
	}
	cert, err := issuer.Target(public, t.value.ID, Claims{Name: t.value.Name, Labels: t.value.Labels, Fleet: t.value.Fleet}, r.Now())
	if err != nil {
		return Answer{}, err
	}
	n.Text = fmt.Sprintf("certificate %s for %s until %s", SerialOf(cert), t.value.Name, cert.NotAfter.UTC().Format(time.RFC3339))
	if err := r.note(ctx, n); err != nil {
		return Answer{}, err
	}
	if err := r.remember(ctx, t, SerialOf(cert)); err != nil {
		return Answer{}, err
	}
	a.Certificates = string(EncodeCertificates(cert, issuer.Certificate()))
	return r.believed(ctx, a)
}

// remember writes the serial of a certificate before anybody has it, and only if the
// target still stands as it did.
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
			return refuse(conflict, "cannot give a certificate to the target %s: somebody changes it just now. Ask again", v.ID)
		}
	}
}

// believed adds what the target is to believe.
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
	a.Hubs, a.Buses = r.Hubs, r.Buses
	if r.Addresses != nil {
		a.Hubs, a.Buses = r.Addresses()
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

func (r *Registrar) note(ctx context.Context, n Noted) error {
	if r.Note == nil {
		return nil
	}
	if err := r.Note(ctx, n); err != nil {
		return fmt.Errorf("cannot do what cannot be written to the audit log: %w", err)
	}
	return nil
}
