package hub

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// AuditLog returns a page of the audit log of this hub.
func (h *Hub) AuditLog(_ context.Context, offset int64, limit int) (document.AuditPage, error) {
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
