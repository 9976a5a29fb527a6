// Package certificates issues, renews and revokes the certificates of hubs and of services of
// targets, and signs the lists of revoked certificates.
//
//	i := certificates.New(certificates.Config{Hub: "hub1", Keys: keys, Services: services, …})
//	go i.Renew(ctx)
//	verdict, why := i.Judge(policy, target, []string{"www.example.org"})
//	answer, err := i.Certify(ctx, target, request, why)
package certificates

import (
	"context"
	"path"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
)

// Jobs creates jobs for agents, and offers existing ones again. *jobs.Queue implements it.
type Jobs interface {
	CreateJob(ctx context.Context, by access.Principal, job document.JobRequest,
		targets []fleet.TargetID) (document.Job, error)
	Offer(ctx context.Context, r records.Job)
}

// Config contains what an Issuer needs of its hub.
type Config struct {
	Hub     string   // the name of the hub
	URLs    []string // of the hub and of its bus
	Alone   bool     // no other hub can have the key of the fleet CA
	Files   host.FS
	Dir     string // the directory of the hub
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub

	Records   *records.Table
	Events    events.Recorder
	Exchange  fleet.Exchange
	Jobs      Jobs
	Keys      *pki.Hub
	Services  *pki.Services
	Revoked   *pki.Revocations
	Registrar *pki.Registrar
	// Active returns an active target, and IsMember reports whether a hub is in the fleet.
	Active   func(context.Context, fleet.TargetID) (fleet.Target, error)
	IsMember func(name string) bool
	// Introduce stores the signing certificate of this hub for the other hubs.
	Introduce func(context.Context) error
}

// Issuer issues and revokes certificates. It is safe for concurrent use. The records of certificates
// change by compare-and-set. listMu is held while a list is signed and stored.
type Issuer struct {
	Config
	// Paces limits the requests of each target for certificates.
	Paces  limits.TargetLimiter
	listMu sync.Mutex
}

// New returns an issuer.
func New(c Config) *Issuer { return &Issuer{Config: c, Paces: certifyPaces()} }

func (i *Issuer) dir(name string) string { return path.Join(i.Dir, name) }

// A target may send certifyBurst requests for certificates at once, and then one per CertifyEvery.
const (
	certifyBurst = 10
	CertifyEvery = 5 * time.Minute
)

func certifyPaces() limits.TargetLimiter {
	return limits.TargetLimiter{Every: rate.Every(CertifyEvery), Burst: certifyBurst}
}
