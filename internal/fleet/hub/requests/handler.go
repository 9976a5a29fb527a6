// Package requests answers the requests of agents by the policy of the fleet, or by a decision of a
// user.
//
//	h := requests.New(requests.Config{Hub: "hub1", Records: table, Targets: registry, Certificates: issuer, …})
//	answer, err := h.OnRequest(ctx, id, body)
//	err = h.DecideRequest(ctx, by, id, fleet.RequestFreeze, "", false, "")
package requests

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/targets"
)

// Config contains what a Handler needs of its hub.
type Config struct {
	Hub     string // the name of the hub
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub
	// Answers is the first policy of a fleet.
	Answers map[fleet.RequestKind]fleet.Verdict

	Records      *records.Table
	Events       events.Recorder
	Targets      *targets.Registry
	Certificates *certificates.Issuer
	// Audit appends to the audit log.
	Audit func(context.Context, access.Entry) error
}

// Handler answers requests of agents. It is safe for concurrent use. The records of requests and of
// the policy change by compare-and-set; limiter has its own lock.
type Handler struct {
	Config
	limiter limits.TargetLimiter
}

// New returns a handler.
func New(c Config) *Handler { return &Handler{Config: c, limiter: newLimiter()} }

// The limits of the requests of one target, for any answer.
const (
	requestBurst    = 5
	requestInterval = 10 * time.Minute
)

func newLimiter() limits.TargetLimiter {
	return limits.TargetLimiter{Every: rate.Every(requestInterval), Burst: requestBurst}
}
