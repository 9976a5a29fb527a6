package hub

import (
	"context"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/backup"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/keyring"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/load"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/metrics"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// core contains the state that most parts use. Hub.open fills it in four steps: openDirectory,
// startBus, openStores and openAccess. After that, only ctx changes once, in Hub.run.
type core struct {
	conf Config
	edge dependencies
	set  Settings
	ctx  context.Context // of Run: background work ends with it
	// mirrorsFilled is closed when all mirrors are filled, so that agents may connect.
	mirrorsFilled    chan struct{}
	handshakeLimiter *bus.HandshakeLimiter
	restart          restart

	credentials
	members     *members.HubSet
	assignments *assignments.Store
	notices     notices.Notifier // incomplete until newParts
	backups     *backup.Saver
	load        *load.Meter
	retryQueue  limits.RetryQueue
	data
}

// credentials are the keys of a hub, and the means to authenticate its clients.
type credentials struct {
	keys     *pki.Hub
	services *pki.Services
	revoked  *pki.Revocations
	keyring  *keyring.Keyring

	registrar *pki.Registrar
	trail     *access.Trail
	auditFile *access.File // of trail
	gate      *access.Gate
}

// data is the data of the fleet, and the copies of it on this hub.
type data struct {
	content  *content.Store
	view     *view.View
	metrics  *metrics.Metrics
	bus      shared
	exchange fleet.Exchange
	records  records.Table
	events   events.Recorder
	endOfLog endOfLog      // nil if the log does not return its end
	logEnd   atomic.Uint64 // the last record in the log when the view began to follow it
}

// endOfLog is a log that returns its end.
type endOfLog interface {
	End(ctx context.Context) (uint64, error)
}

// restart requests that the hub starts again in this process.
type restart struct {
	requested chan struct{}
	once      sync.Once
}

// request stops the hub and starts it again.
func (r *restart) request() { r.once.Do(func() { close(r.requested) }) }

func (c *core) now() time.Time { return c.conf.Now() }

// context ends with this hub.
func (c *core) context() context.Context { return c.ctx }

func (c *core) dir(name string) string { return path.Join(c.conf.Dir, name) }

// warn logs a message, unless this hub is retired.
func (c *core) warn(text string) {
	if c.members == nil {
		c.conf.warn(text)
		return
	}
	c.members.Log(text)
}
