package pki

import (
	"crypto/x509"
	"fmt"
	"time"
)

// RenewAt returns the time at which a certificate must be renewed: after two thirds of its
// lifetime.
func RenewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

// VerificationTime returns the time at which an agent verifies a certificate of a hub: its clock, moved into
// the validity of the certificate. floor is the latest time that was ever signed for this agent
// (see RaiseMinimumTime), so it has certainly passed. A certificate that expired before it is invalid, and
// ErrExpired is in the chain of the error. The clock alone never makes a certificate invalid: it
// may be wrong, only a hub can correct it, and the agent must still reach its hubs.
func VerificationTime(now, floor time.Time, c *x509.Certificate) (time.Time, error) {
	if c.NotAfter.Before(floor) {
		return time.Time{}, fmt.Errorf(
			"cannot trust a certificate that expired at %s, before the latest time that a hub has signed: %w",
			c.NotAfter.UTC().Format(time.RFC3339), ErrExpired)
	}
	at := now
	for _, least := range []time.Time{floor, c.NotBefore} {
		if at.Before(least) {
			at = least
		}
	}
	if at.After(c.NotAfter) {
		at = c.NotAfter
	}
	return at, nil
}

// RaiseMinimumTime returns the new minimum time, after the agent accepted data that was signed at the time
// signed by the signer with the certificate by. It never decreases, and never exceeds the end of
// that certificate: a hub with a wrong clock can raise the minimum time only up to the end of its
// own certificate, and later certificates stay valid.
func RaiseMinimumTime(floor, signed time.Time, by *x509.Certificate) time.Time {
	if signed.After(by.NotAfter) {
		signed = by.NotAfter
	}
	if signed.After(floor) {
		return signed
	}
	return floor
}

// MaxSkew is the clock difference above which a warning is shown.
const MaxSkew = 5 * time.Minute

// Skew returns how far a local clock is ahead of a hub's, and whether this needs a warning. sent
// and received are the local times before and after the hub's clock was read.
func Skew(sent, received, hub time.Time) (ahead time.Duration, warn bool) {
	middle := sent.Add(received.Sub(sent) / 2)
	ahead = middle.Sub(hub)
	return ahead, ahead.Abs() > MaxSkew+received.Sub(sent)/2
}
