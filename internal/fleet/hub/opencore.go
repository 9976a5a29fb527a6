package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/backup"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/keyring"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// viewFile is the file name of the read model of a hub.
const viewFile = "view.db"

// openDirectory reads the settings, the keys and the other hubs from the directory, and opens the
// stores of content and of the read model.
func (c *core) openDirectory() (err error) {
	if c.set, err = ReadSettings(c.conf.Files, c.conf.Dir); err != nil {
		return err
	}
	if c.keys, err = pki.OpenHub(c.conf.Files, c.dir("keys")); err != nil {
		return err
	}
	if c.services, err = pki.OpenServices(c.conf.Files, c.dir("keys")); err != nil {
		return err
	}
	c.revoked = &pki.Revocations{}
	c.keyring = keyring.New(keyring.Config{Fleet: c.set.Fleet, Own: c.keys, Revoked: c.revoked,
		Certificates: func(ctx context.Context) ([]*x509.Certificate, error) { return c.members.SignerCertificates(ctx) },
		Now:          c.now, Warn: c.warn, Context: c.context})
	c.assignments = assignments.New(assignments.Config{Records: &c.records, Keys: c.keyring.SigningKeys,
		SigningKey: c.keys.SigningKey, Context: c.context})
	c.load = newMeter(c)
	c.members = members.New(c.membersConfig())
	if err := c.members.Open(); err != nil {
		return err
	}
	if c.content, err = content.OpenStore(c.conf.Files, c.dir("content"), 0); err != nil {
		return err
	}
	c.view, err = view.Open(c.dir(viewFile), c.set.Retention.view())
	return err
}

func (c *core) startBus(ctx context.Context) error {
	trust, err := c.keyring.Trust()
	if err != nil {
		return err
	}
	foreign, err := c.foreign()
	if err != nil {
		return err
	}
	conf := trust.BusTLS(c.keys.TLS, c.now)
	_, agents := budgets(c.conf.Descriptors)
	c.bus, err = c.edge.bus(ctx, bus.Config{
		Dir: c.dir("bus"), Name: c.set.Name, Listen: c.set.Bus, TLS: conf, Warn: c.warn,
		Cluster: c.members.Cluster(trust), ExternalNats: foreign, Ready: c.mirrorsFilled,
		HandshakeLimiter: c.handshakeLimiter, Budget: agents,
		Load:        c.load.Load,
		OnViolation: violations(c.now, c.recordViolation), Incompatible: c.notices.Incompatible,
		Identify: func(s *tls.ConnectionState) (fleet.TargetID, error) {
			p, err := trust.PeerOf(s, c.now(), pki.TargetKind)
			if err != nil {
				return "", err
			}
			c.rebuild(p)
			return fleet.ParseTargetID(p.Name.ID)
		},
	})
	if err == nil {
		c.exchange = c.bus.Exchange()
	}
	return err
}

func (c *core) openStores(ctx context.Context) error {
	if err := c.records.Open(ctx, c.bus.Store, records.Options{Away: c.members.MayChange,
		Assignment: c.assignments.Parse, Pack: c.assignments.Pack}); err != nil {
		return err
	}
	log, err := c.bus.Log(ctx, c.set.Retention.log())
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	c.endOfLog, _ = log.(endOfLog) // logs of simulations have none
	c.events = events.Recorder{Hub: c.set.Name, Log: bus.NewGather(log, bus.GatherConfig{}), Now: c.now, Warn: c.warn}
	c.backups = backup.New(backup.Config{Hub: c.set.Name, Fleet: c.set.Fleet, Files: c.conf.Files, Dir: c.conf.Dir,
		ExternalNats: c.usesExternalNats(), Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events})
	return nil
}

// openAccess opens the audit log, and connects the registrar and the gate with the stores.
func (c *core) openAccess() error {
	c.registrar = &pki.Registrar{
		Hub: c.keys, Revocations: c.revoked,
		Tokens: c.records.Buckets["tokens"], Targets: c.records.Buckets["targets"],
		RevocationStore: c.records.Buckets["facts"], Names: c.records.Buckets["names"],
		Now: c.now, Addresses: c.members.Addresses, Audit: c.noted, Limit: &pki.Limit{},
		Signers: c.members.SignerCertificates,
	}
	c.auditFile = &access.File{FS: c.conf.Files, Path: c.dir("audit.log")}
	var err error
	if c.trail, err = access.OpenTrail(c.auditFile, c.set.Name, c.now); err != nil {
		return err
	}
	trust, err := c.keyring.Trust()
	if err != nil {
		return err
	}
	provider, err := newProvider(c.conf.Files, c.conf.Dir, c.set.OIDC)
	c.gate = &access.Gate{Users: c.records.Users, Last: c.records.Users.Value, Trust: &trust, OIDC: provider,
		Limit: &pki.Limit{}, Now: c.now}
	return err
}
