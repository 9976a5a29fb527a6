package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// What is not well any more.
const (
	oldBackup  = 8 * day
	soonOver   = 30 * day // certificates
	littleDisk = 10       // percent
)

// findings gathers what was looked at.
type findings []document.HubFinding

func (f *findings) say(name string, well bool, hint, format string, args ...any) {
	d := document.HubFinding{Name: name, Well: well, Text: fmt.Sprintf(format, args...)}
	if !well {
		d.Hint = hint
	}
	*f = append(*f, d)
}

// Check looks at this hub closely. It may take some seconds.
func (h *Hub) Check(ctx context.Context) document.HubCheck {
	var f findings
	for _, c := range h.Health(ctx).Checks {
		f.say(c.Name, c.Error == "", "See what the hub says: journalctl -u fettle-hub", "%s", orWell(c.Error))
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
	age, err := h.backupAge(ctx)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.say("backup", false, "Make one: fettle hub backup FILE", "there is none")
	case err != nil:
		f.say("backup", false, h.mostHint(), "its age is not known: %v", err)
	default:
		f.say("backup", age < oldBackup, "Make one: fettle hub backup FILE", "%s old", age.Round(time.Minute))
	}
}

func orWell(text string) string {
	if text == "" {
		return "well"
	}
	return text
}

func (h *Hub) checkDisk(f *findings) {
	if h.conf.Free == nil {
		return
	}
	free, all, err := h.conf.Free(h.conf.Dir)
	if err != nil || all == 0 {
		f.say("disk", false, "", "cannot tell: %v", err)
		return
	}
	f.say("disk", free*100/all >= littleDisk, "Make room, or keep less: retention in hub.json", "%d%% free, %d MiB; content has %d MiB", free*100/all, free>>20, h.content.Used()>>20)
}

func (h *Hub) checkCertificates(f *findings) {
	now := h.now()
	say := func(name string, c *x509.Certificate, err error) {
		if err != nil {
			f.say(name, false, "", "%v", err)
			return
		}
		well := now.After(c.NotBefore) && now.Add(soonOver).Before(c.NotAfter)
		f.say(name, well, "Compare the clock; the authority has to vouch for this hub anew", "good from %s until %s", c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
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
	ctx, stop := context.WithTimeout(ctx, lookFor/2)
	defer stop()
	e, err := h.stores["leases"].Get(ctx, "leader")
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.say("leader", false, "Wait a moment, and look again", "nobody leads")
	case err != nil:
		f.say("leader", false, h.mostHint(), "%v", err)
	default:
		h.mu.Lock()
		leads := h.leader != nil
		h.mu.Unlock()
		text := "another hub leads"
		if leads {
			text = "this hub leads"
		}
		f.say("leader", len(e.Value) > 0, "", "%s", text)
	}
}

// mostHint is what to do where the store does not answer: nothing can be changed while most
// of the hubs are away.
func (h *Hub) mostHint() string {
	if h.peers == nil || h.isForeign() {
		return ""
	}
	return "Most of the hubs have to be there: start those that are away, or begin anew with one that is left: docs/fleet-operations.md, Most hubs are lost"
}

func (h *Hub) checkRepository(f *findings) {
	r := h.repository()
	if r.URL == "" {
		f.say("repository", true, "", "none is followed")
		return
	}
	ref, _, ok := h.refs.get(refKey(r.Branch))
	switch {
	case !ok:
		f.say("repository", false, "See: fettle events", "it was never read")
	case ref.Error != "":
		f.say("repository", false, "See: fettle alarm list", "%s", ref.Error)
	default:
		f.say("repository", true, "", "%s is at %.12s", r.Branch, ref.Revision.Commit)
	}
}
