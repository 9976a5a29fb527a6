package hub

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/mem"
)

// TestPagesOfTheAuditLog: without an offset, a page contains the last records, and at most a thousand.
func TestPagesOfTheAuditLog(t *testing.T) {
	h := &Hub{}
	h.auditFile = &access.File{FS: mem.NewFS(mem.Options{}), Path: "/audit.log"}
	trail, err := access.OpenTrail(h.auditFile, "hub1", func() time.Time { return time.Unix(1, 0) })
	for i := range maxRecords + 5 {
		if err == nil {
			err = trail.Append(t.Context(), access.Entry{User: "ann", Object: fmt.Sprint(i), Outcome: access.Done})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := h.auditLog(t.Context(), route.AuditQuery{Offset: new(int64)})
	if err != nil || len(all.Records) != maxRecords || all.Offset != 0 {
		t.Fatalf("%d records from %d, %v", len(all.Records), all.Offset, err)
	}
	rest, err := h.auditLog(t.Context(), route.AuditQuery{Offset: &all.Next})
	if err != nil || len(rest.Records) != 5 {
		t.Fatalf("%d records, %v", len(rest.Records), err)
	}
	last := rest.Records[4]
	for q, want := range map[route.AuditQuery]int{{}: maxRecords, {Limit: 7}: 7, {Limit: maxRecords + 1}: maxRecords} {
		page, err := h.auditLog(t.Context(), q)
		if n := len(page.Records); err != nil || n != want || page.Records[n-1] != last {
			t.Errorf("%+v: %d records, %v", q, n, err)
		}
	}
	page, err := h.auditLog(t.Context(), route.AuditQuery{Offset: &all.Next, Limit: 2})
	if err != nil || len(page.Records) != 2 || page.Records[0] != rest.Records[0] {
		t.Errorf("%+v, %v", page, err)
	}
}
