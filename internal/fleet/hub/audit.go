package hub

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// AuditLog is a part of what was asked of this hub.
func (h *Hub) AuditLog(_ context.Context, offset int64, limit int) (document.AuditPage, error) {
	p := document.AuditPage{Format: document.AuditPageFormat, Hub: h.set.Name, Records: []string{}}
	records, first, next, err := h.records.Page(offset, limit)
	if errors.Is(err, access.ErrNoRecord) {
		return p, &api.Refusal{Status: http.StatusConflict, Why: err.Error(), Hint: "The log was cut off, edited or begun anew since you had that place. Look at what was copied before"}
	}
	p.Offset, p.Next = first, next
	p.Records = append(p.Records, records...)
	return p, err
}
