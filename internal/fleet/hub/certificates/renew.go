package certificates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// renewCheckInterval is the time between two checks of a hub's certificates. They are valid for a
// year and are renewed in their last third.
const renewCheckInterval = 6 * time.Hour

// renewRetryInterval is the first delay before a hub tries again to get an issuer for certificates
// of services. Each further delay is twice as long.
const renewRetryInterval = 5 * time.Second

// Renew renews the certificates of this hub until ctx ends. It needs the private key
// of the fleet CA, in the directory of this hub or of another one. If it cannot renew, it warns.
func (i *Issuer) Renew(ctx context.Context) error {
	said := "" // the last failure to get an issuer for services, to warn only once
	for soon := renewRetryInterval; ; soon = min(2*soon, renewCheckInterval) {
		err := i.certifyHub(ctx)
		if services := i.renewServiceIssuer(ctx); services != nil && services.Error() != said {
			said = services.Error()
			err = errors.Join(err, services)
		}
		if err = errors.Join(err, i.SignLists(ctx)); err != nil && ctx.Err() == nil {
			i.Warn(err.Error())
		}
		wait := renewCheckInterval
		if i.Services.RenewAt().IsZero() {
			wait = soon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// certifyHub renews the certificates of this hub if they are due. The keys stay, so earlier
// signatures remain valid.
func (i *Issuer) certifyHub(ctx context.Context) error {
	at, err := i.Keys.RenewAt()
	if err != nil || i.Now().Before(at) {
		return err
	}
	own, err := i.Keys.Certificate()
	if err != nil {
		return err
	}
	jobID, err := i.Keys.Request()
	if err != nil {
		return err
	}
	certificates, err := i.authorized(jobID, i.Hub, own)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the key of the fleet CA is not in %s. Copy it there until they are renewed", i.dir("authority"))
		if !i.Alone {
			certificates, err = i.requestCertification(ctx, CertifyPath, jobID)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot renew this hub's certificates, which end at %s: %w",
			own.NotAfter.UTC().Format(time.DateTime), err)
	}
	if err := i.Keys.Install(certificates); err != nil {
		return err
	}
	return i.Introduce(ctx)
}
