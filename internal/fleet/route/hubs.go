package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// HubName names a hub of the fleet.
type HubName struct {
	Hub string `path:"hub"`
}

// AuditQuery selects records of the audit log. Without an offset, it selects the last records. The
// limit 0 means the largest page.
type AuditQuery struct {
	Offset *int64 `query:"offset" does:"start at this byte, at which a record must begin"`
	Limit  int    `query:"limit" does:"return at most this number of items"`
}

func ofHubs() []Row { return []Row{AuditLog().Row, Hubs().Row, RetireHub().Row} }

// AuditLog returns a part of the audit log of the hub that answers. Users of an organization get its last records.
func AuditLog() (r Route[AuditQuery, None, document.AuditPage]) {
	return r.get(access.Admin, "/v1/audit", "Show the audit log of this hub, from an offset, or its last records").tenant()
}

// Hubs returns the hubs of the fleet.
func Hubs() (r Route[None, None, document.HubPage]) {
	return r.get(access.Read, "/v1/hubs", "List the hubs of the fleet, and their redundancy")
}

// RetireHub removes a hub from the fleet.
func RetireHub() (r Route[HubName, document.HubRetirement, document.Done]) {
	return r.post(access.Admin, "/v1/hubs/{hub}/retire", "Retire a hub: the trust in it ends when the other hubs "+
		"have all of its data, or immediately if it is lost")
}
