package hub

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxRecords limits a page of the audit log.
const maxRecords = 1000

// auditLog returns a page of the audit log of this hub. Without an offset, it has the last records.
func (h *Hub) auditLog(_ context.Context, q route.AuditQuery) (document.AuditPage, error) {
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
