package binaries_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/binaries"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/host/mem"
)

var (
	ann = access.NewPrincipal("ann", "token", access.Admins)
	bob = access.NewPrincipal("bob", "token", access.Operator, access.Approver)
)

// world is a store of binaries without a binary and without a setting.
type world struct {
	*binaries.Store
	now      time.Time
	settings *bustest.Store
	log      *bustest.Log
	user     access.Principal
	unknown  error          // of Authenticate
	noAudit  error          // of Audit
	audit    []access.Entry // written entries
}

// newWorld returns a store with a limit of its content, in bytes; 0 means the default.
func newWorld(t *testing.T, limit int64) *world {
	t.Helper()
	store, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", limit)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Unix(1_795_000_000, 0), settings: bustest.NewStore(), log: bustest.NewLog(), user: ann}
	now := func() time.Time { return w.now }
	w.Store = binaries.New(binaries.Config{Now: now, Content: store, Records: &records.Table{},
		Events:       events.Recorder{Hub: "hub1", Log: w.log, Now: now},
		Authenticate: func(*http.Request) (access.Principal, error) { return w.user, w.unknown },
		Audit: func(ctx context.Context, e access.Entry) error {
			if w.noAudit != nil || ctx.Err() != nil {
				return w.noAudit
			}
			w.audit = append(w.audit, e)
			return nil
		}})
	w.Records.Binaries = records.NewMirror[assign.BinarySetting](w.settings, "program/", nil)
	return w
}
