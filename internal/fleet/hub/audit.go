package hub

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxRecords limits a page of the audit log.
const maxRecords = 1000

// auditLog returns a page of the audit log of this hub. Without an offset, it has the last records. A user of an
// organization gets only the last records of the organization, without the chain.
func (h *Hub) auditLog(ctx context.Context, q route.AuditQuery) (document.AuditPage, error) {
	if of := fleet.BoundaryOf(ctx).Organization; of != "" {
		return h.auditOf(of, q)
	}
	offset, limit := int64(-1), maxRecords
	if q.Offset != nil {
		offset = *q.Offset
	}
	if q.Limit > 0 {
		limit = min(q.Limit, maxRecords)
	}
	p := document.AuditPage{Format: document.AuditPageFormat, Hub: h.set.Name, Records: []string{}}
	records, first, next, err := h.auditFile.Page(offset, limit)
	if errors.Is(err, access.ErrNoRecord) {
		return p, &api.Refusal{Status: http.StatusConflict, Why: err.Error(),
			Hint: "The log was truncated, edited or started again after the previous page was read. " +
				"Compare it with the records that you copied before"}
	}
	p.Offset, p.Next = first, next
	p.Records = append(p.Records, records...)
	return p, err
}

// auditOf returns the last records of an organization.
func (h *Hub) auditOf(of fleet.Organization, q route.AuditQuery) (document.AuditPage, error) {
	p := document.AuditPage{Format: document.AuditPageFormat, Hub: h.set.Name, Records: []string{}}
	if q.Offset != nil {
		return p, &api.Refusal{Status: http.StatusForbidden, Why: "users of an organization cannot copy the audit log",
			Hint: "Show its last records of your organization: fettle audit list"}
	}
	limit := maxRecords
	if q.Limit > 0 {
		limit = min(q.Limit, maxRecords)
	}
	records, err := h.auditFile.Last(limit, func(r access.Record) bool { return r.Within(of) })
	for _, r := range records {
		e := r.For(of)
		p.Entries = append(p.Entries, document.AuditEntry{At: r.At, User: e.User, Credential: e.Credential,
			Operation: e.Operation, Object: e.Object, Outcome: e.Outcome, Reason: e.Reason, From: e.From})
	}
	return p, err
}
