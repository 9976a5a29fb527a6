package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/load"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Limits beyond which a check of a hub fails.
const (
	oldBackup = 8 * day
	soonOver  = 30 * day // for certificates
)

// findings collects the results of Check.
type findings []document.HubFinding

func (f *findings) say(name string, well bool, hint, format string, args ...any) {
	d := document.HubFinding{Name: name, Well: well, Text: fmt.Sprintf(format, args...)}
	if !well {
		d.Hint = hint
	}
	*f = append(*f, d)
}

// Check examines this hub. It may take some seconds.
func (h *Hub) Check(ctx context.Context) document.HubCheck {
	var f findings
	for _, c := range h.Health(ctx).Checks {
		f.say(c.Name, c.Error == "", "See the log of the hub: journalctl -u fettle-hub", "%s", orHealthy(c.Error))
	}
	h.checkDisk(&f)
	h.checkCertificates(&f)
	h.checkLeader(ctx, &f)
	h.checkHubs(ctx, &f)
	h.checkRepository(&f)
	h.checkBackup(ctx, &f)
	d := document.HubCheck{Format: document.HubCheckFormat, Hub: h.set.Name, Well: true, Checks: f}
	for _, c := range f {
		d.Well = d.Well && c.Well
	}
	return d
}

func (h *Hub) checkBackup(ctx context.Context, f *findings) {
	age, err := h.backups.Age(ctx)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.say("backup", false, "Create one: fettle hub backup FILE", "there is no backup")
	case err != nil:
		f.say("backup", false, h.members.MostHint(), "cannot read its age: %v", err)
	default:
		f.say("backup", age < oldBackup, "Create one: fettle hub backup FILE", "%s old", age.Round(time.Minute))
	}
}

func orHealthy(text string) string {
	if text == "" {
		return "healthy"
	}
	return text
}

func (h *Hub) checkDisk(f *findings) {
	if h.conf.Free == nil {
		return
	}
	free, all, err := h.conf.Free(h.conf.Dir)
	if err != nil || all == 0 {
		f.say("disk", false, "", "cannot read the free space: %v", err)
		return
	}
	f.say("disk", !load.DiskIsLow(free, all), "Free some space, or store less: retention in hub.json",
		"%d%% free, %d MiB; bundles use %d MiB", free*100/all, free>>20, h.content.Used()>>20)
}

func (h *Hub) checkCertificates(f *findings) {
	now := h.now()
	say := func(name string, c *x509.Certificate, err error) {
		if err != nil {
			f.say(name, false, "", "%v", err)
			return
		}
		well := now.After(c.NotBefore) && now.Add(soonOver).Before(c.NotAfter)
		f.say(name, well, "Check the clock of this hub. If the clock is right, the fleet CA must certify this hub again: "+
			"docs/fleet-operations.md", "valid from %s until %s",
			c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
	}
	authority, err := h.keys.Authority()
	say("authority", authority, err)
	signer, err := h.keys.Signer()
	say("signer", signer, err)
	own, err := h.keys.TLS()
	if err == nil {
		var leaf *x509.Certificate
		leaf, err = x509.ParseCertificate(own.Certificate[0])
		say("certificate", leaf, err)
		return
	}
	say("certificate", nil, err)
}

func (h *Hub) checkLeader(ctx context.Context, f *findings) {
	ctx, stop := context.WithTimeout(ctx, records.StatusTimeout/2)
	defer stop()
	e, err := h.records.Buckets["leases"].Get(ctx, "leader")
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.say("leader", false, "Wait a minute and repeat the check", "no hub leads")
	case err != nil:
		f.say("leader", false, h.members.MostHint(), "%v", err)
	default:
		text := "another hub leads"
		if h.leader.Leads() {
			text = "this hub leads"
		}
		f.say("leader", len(e.Value) > 0, "", "%s", text)
	}
}

func (h *Hub) checkRepository(f *findings) {
	r := h.repository.Repository()
	if r.URL == "" {
		f.say("repository", true, "", "no repository is configured")
		return
	}
	ref, _, ok := h.records.Refs.Get(records.RefKey(r.Branch))
	switch {
	case !ok:
		f.say("repository", false, "See: fettle events", "the hub has not read it yet")
	case ref.Error != "":
		f.say("repository", false, "See: fettle alarm list", "%s", ref.Error)
	default:
		f.say("repository", true, "", "%s is at %.12s", r.Branch, ref.Revision.Commit)
	}
}

func (h *Hub) checkHubs(ctx context.Context, f *findings) {
	p, err := h.members.Hubs(ctx)
	if err != nil {
		f.say("hubs", false, h.members.MostHint(), "%v", err)
		return
	}
	for _, l := range p.Lost {
		f.say("hubs", false, "fettle hub retire "+l.Name, "%s is lost, and its keys are still trusted", l.Name)
	}
	if len(p.Hubs) < 2 {
		return
	}
	if lost := members.LostRedundancy(p); lost != "" {
		f.say("hubs", false, "Start the missing hubs. Retire a hub that does not return: fettle hub retire NAME", "%s", lost)
		return
	}
	f.say("hubs", true, "", "all %d are connected and have all data", len(p.Hubs))
}
