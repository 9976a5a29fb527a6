package pki

import (
	"crypto/x509"
	"fmt"
	"time"
)

// RenewAt is when a certificate is to be renewed: after two thirds of its life.
func RenewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

// Moment is the time at which an agent judges a certificate of a hub: its clock, as far
// as the certificate and the floor leave a choice. The floor is the highest time that was
// ever signed for this agent (see Raise), so it has passed for sure: what ended before it
// is over, whatever the clock says, and ErrExpired is in the chain of the error. What a
// clock alone says never cuts an agent off from its hubs: it may be the clock that is
// wrong, and only a hub can tell.
func Moment(now, floor time.Time, c *x509.Certificate) (time.Time, error) {
	if c.NotAfter.Before(floor) {
		return time.Time{}, fmt.Errorf("cannot believe a certificate that ended at %s, before what was signed since: %w", c.NotAfter.UTC().Format(time.RFC3339), ErrExpired)
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

// Raise is the floor after something with the time signed was believed because of the
// certificate of a signer. It never falls. It never goes beyond the end of that
// certificate either: a hub whose clock runs wild moves the floor of nobody further than
// its own certificate lasts, and the next one lasts longer.
func Raise(floor, signed time.Time, by *x509.Certificate) time.Time {
	if signed.After(by.NotAfter) {
		signed = by.NotAfter
	}
	if signed.After(floor) {
		return signed
	}
	return floor
}

// MaxSkew is from when on the difference of two clocks is worth a warning.
const MaxSkew = 5 * time.Minute

// Skew is how far a clock is ahead of a hub's, and whether that is worth a warning. The
// hub's time was read between sent and received on the clock.
func Skew(sent, received, hub time.Time) (ahead time.Duration, warn bool) {
	middle := sent.Add(received.Sub(sent) / 2)
	ahead = middle.Sub(hub)
	return ahead, ahead.Abs() > MaxSkew+received.Sub(sent)/2
}
