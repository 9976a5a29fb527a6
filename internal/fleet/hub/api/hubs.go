package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Hubs are the hubs of the fleet.
type Hubs interface {
	Hubs(ctx context.Context) (document.HubPage, error)
	RetireHub(ctx context.Context, by access.Principal, name string, r document.HubRetirement) error
}

// HandleHubs registers the handlers of the hubs of the fleet.
func HandleHubs(t *Table, b Hubs) {
	handleGet(t, route.Hubs(), b.Hubs)
	Handle(t, route.RetireHub(),
		func(ctx context.Context, c Caller, at route.HubName, r document.HubRetirement) (document.Done, error) {
			text := "%s is retired. It stops when the other hubs have all of its data, and then its certificate is revoked."
			if r.Lost {
				text = "%s is retired, and its certificate is revoked."
			}
			return done(b.RetireHub(ctx, c.Principal, at.Hub, r), text, at.Hub)
		})
}

// AuditLog is the audit log of this hub.
type AuditLog interface {
	// AuditLog returns a page of the audit log. A negative offset means the last records. It
	// returns a *Refusal if no record begins at the offset.
	AuditLog(ctx context.Context, offset int64, limit int) (document.AuditPage, error)
}

// mostRecords limits a page of the audit log.
const mostRecords = 1000

// HandleAuditLog registers the handler of the audit log.
func HandleAuditLog(t *Table, b AuditLog) {
	Handle(t, route.AuditLog(),
		func(ctx context.Context, _ Caller, q route.AuditQuery, _ route.None) (document.AuditPage, error) {
			offset := int64(-1)
			if q.Offset != nil {
				offset = *q.Offset
			}
			if q.Limit == 0 || q.Limit > mostRecords {
				q.Limit = mostRecords
			}
			return b.AuditLog(ctx, offset, q.Limit)
		})
}
