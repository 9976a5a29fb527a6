package hub

import (
	"encoding/hex"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// usesExternalNats reports whether an external NATS cluster stores the data.
func (c *core) usesExternalNats() bool { return c.set.Nats != nil }

// foreign returns the configuration of that cluster, or nil without one.
func (c *core) foreign() (*bus.ExternalNats, error) {
	if !c.usesExternalNats() {
		return nil, nil
	}
	return c.set.Nats.foreign(c.conf.Files, c.conf.Dir)
}

// welcomeNats returns the cluster's settings for a hub that joins. They contain no credentials:
// each hub has its own, so that an operator can revoke them separately.
func (c *core) welcomeNats() (*pki.WelcomeNats, error) {
	f, err := c.foreign()
	if f == nil || err != nil {
		return nil, err
	}
	return &pki.WelcomeNats{URLs: f.URLs, Prefix: f.Prefix, Replicas: f.Replicas, CA: string(f.CA),
		Key: hex.EncodeToString(f.Key), Login: len(f.Login) > 0}, nil
}

// membersConfig returns the dependencies of the set of hubs.
func (c *core) membersConfig() members.Config {
	return members.Config{
		Identity: members.Identity{Hub: c.set.Name, Fleet: c.set.Fleet, HubURLs: c.set.HubURLs, BusURLs: c.set.BusURLs,
			Domain: c.set.Domain, Listen: c.set.cluster(), ExternalNats: c.usesExternalNats(), Files: c.conf.Files, Dir: c.conf.Dir,
			HookFile: c.dir(hookFile), Keys: c.keys, Revoked: c.revoked},
		Now: c.now, Warn: c.conf.warn, Context: c.context, Filled: c.mirrorsFilled, Records: &c.records,
		Events: func() events.Recorder { return c.events }, View: func() *view.View { return c.view },
		Bus: func() any { return c.bus }, Exchange: func() fleet.Exchange { return c.exchange },
		Registrar: func() *pki.Registrar { return c.registrar },
		Sign:      c.assignments.WriteInBatches, Nats: c.welcomeNats, ForgetKeys: c.keyring.Forget,
		Restart: c.restart.request, Load: c.load.Load,
	}
}
