package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// desk is the part of a hub that takes orders of operators.
type desk struct {
	t     *testing.T
	now   time.Time
	store *bustest.Store
	table *records.Table
	log   *bustest.Log
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, now: time.Unix(1_000_000, 0), store: bustest.NewStore(), log: bustest.NewLog()}
	d.restart()
	return d
}

// restart reads the store again, like another hub.
func (d *desk) restart() {
	d.t.Helper()
	d.table = &records.Table{Refs: records.NewMirror[records.Ref](d.store, "ref/", nil),
		Targets: records.NewMirror[fleet.Target](d.store, "target/", nil),
		Alarms:  records.NewMirror[[]assign.Alarm](d.store, "alarms/", nil)}
	d.table.Replacements = records.NewMirror[assign.Replacement](d.store, "replacement/", nil)
	d.table.Exemptions = records.NewMirror[assign.Exemption](d.store, "exemption/", nil)
	d.table.Assignments = records.NewMirror[records.Assignment](d.store, "assignment/", nil)
	ctx, stop := context.WithCancel(d.t.Context())
	err := d.store.Watch(ctx, func(e fleet.Entry) {
		d.table.Refs.Take(e)
		d.table.Targets.Take(e)
		d.table.Alarms.Take(e)
		d.table.Replacements.Take(e)
		d.table.Exemptions.Take(e)
		d.table.Assignments.Take(e)
	}, stop)
	if err != nil && !errors.Is(err, context.Canceled) {
		d.t.Fatal(err)
	}
}

func (d *desk) time() time.Time { return d.now }

func (d *desk) recorder() events.Recorder {
	return events.Recorder{Hub: "hub1", Log: d.log, Now: d.time}
}

// noted returns the recorded events with their users.
func (d *desk) noted() (out []string) {
	for _, text := range d.log.Records() {
		var e fleet.HubEvent
		if err := json.Unmarshal(text, &e); err != nil || e.Kind != fleet.RolloutChanged {
			d.t.Errorf("%s: %v", text, err)
		}
		out = append(out, e.By+": "+e.Text)
	}
	return out
}

// wantRefused checks the status and the text of a refused order, and its hint.
func wantRefused(t *testing.T, err error, status int, why, hint string) {
	t.Helper()
	var r *api.Refusal
	if !errors.As(err, &r) || r.Status != status || !strings.Contains(r.Why, why) || !strings.Contains(r.Hint, hint) {
		t.Errorf("%#v, want %d %q with the hint %q", err, status, why, hint)
	}
}

func named(name string) api.Caller { return api.Caller{Principal: access.Principal{Name: name}} }
