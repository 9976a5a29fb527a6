package apitest

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/host/mem"
)

// AuditLog returns a fixed log. Calls of this hub do not appear in it.
func (h *Hub) AuditLog(ctx context.Context, offset int64, limit int) (document.AuditPage, error) {
	p := document.AuditPage{Format: document.AuditPageFormat, Hub: "hub1", Records: []string{}}
	f := &access.File{FS: mem.NewFS(mem.Options{}), Path: "/audit.log"}
	trail, err := access.OpenTrail(f, "hub1", Now)
	for _, e := range []access.Entry{
		{User: "ann", Credential: "token fettle-api-a", Operation: "POST /v1/targets/{target}/pin", Object: "web1",
			Outcome: access.Begun, Reason: `{"ref":"fix-tls"}`, From: "192.0.2.7:4711", Request: "r1"},
		{User: "ann", Credential: "token fettle-api-a", Operation: "POST /v1/targets/{target}/pin", Object: "web1",
			Outcome: access.Done, From: "192.0.2.7:4711", Request: "r1"},
		{User: "bob", Credential: "certificate 1f", Operation: "POST /v1/users", Outcome: access.Denied,
			From: "192.0.2.8:4711", Request: "r2"},
	} {
		if err == nil {
			err = trail.Append(ctx, e)
		}
	}
	if err != nil {
		return p, err
	}
	records, first, next, err := f.Page(offset, limit)
	if errors.Is(err, access.ErrNoRecord) {
		return p, &api.Refusal{Status: http.StatusConflict, Why: err.Error(),
			Hint: "Compare it with the records that you copied before"}
	}
	p.Offset, p.Next = first, next
	p.Records = append(p.Records, records...)
	return p, err
}
