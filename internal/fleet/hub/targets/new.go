package targets

import (
	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
)

func newClaims(g *Registry) *claims {
	return &claims{
		store: g.Records.Buckets["notices"], exchange: g.Exchange, now: g.Now, active: g.Active, newest: g.View.NewestReport,
		proved: g.onCloned, released: g.Released, cloned: map[fleet.TargetID]bool{},
		pace: limits.TargetLimiter{Every: rate.Every(claimEvery), Burst: claimBurst}, ready: make(chan struct{}),
	}
}

// New returns a registry. Records must be open.
func New(c Config) *Registry {
	g := &Registry{Config: c, reportLimits: reportPaces()}
	g.claims = newClaims(g)
	return g
}
