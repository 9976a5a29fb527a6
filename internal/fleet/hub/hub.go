package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/jobs"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/metrics"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/requests"
	"fettle.dev/fettle/internal/fleet/hub/targets"
	"fettle.dev/fettle/internal/fleet/hub/users"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// Compiler compiles the inventory of a repository. *limited.Compiler implements it.
type Compiler interface {
	Targets(tree repo.Tree) ([]query.Target, diag.List)
}

// Config contains the environment of a hub.
type Config struct {
	Files   host.FS
	Dir     string
	Compile Compiler
	// Socket is the path of a socket at which every client has the right admin; "" means none.
	// Listen creates it and accepts only root and the user of this process.
	Socket string
	Listen func(socket string) (net.Listener, error)
	Now    func() time.Time
	// Binary runs a program of the hub's directory with stdin as its standard input, for a
	// notification. If it is nil, the hub runs no programs.
	Binary func(ctx context.Context, argv []string, stdin []byte) error
	// Free returns the free bytes on the file system of a directory, and all bytes that files there
	// can use. If it is nil, the hub does not check the disk.
	Free func(dir string) (free, all uint64, err error)
	// Descriptors is the number of files that this process may open; 0 means 65,536.
	Descriptors int
	// Version is the version of this binary.
	Version string
	// Warn is called for errors after which the hub continues.
	Warn func(text string)
	// Ready is called when the hub serves agents and users. Stopped is called when it stops serving
	// and waits, because its disk is full or its store has stopped; Ready follows when it serves
	// again. Both may be nil.
	Ready   func(api, bus net.Addr)
	Stopped func()
}

// Hub is a running hub. Its methods are safe for concurrent use.
type Hub struct {
	conf Config
	edge dependencies
	set  Settings
	// mirrorsFilled is closed when all mirrors are filled, so that agents may connect.
	mirrorsFilled    chan struct{}
	handshakeLimiter *bus.HandshakeLimiter
	ctx              context.Context // of Run: background work ends with it

	keys      *pki.Hub
	services  *pki.Services
	revoked   *pki.Revocations
	registrar *pki.Registrar
	gate      *access.Gate
	trail     *access.Trail
	auditFile *access.File // of trail

	bus          shared
	exchange     fleet.Exchange
	events       events.Recorder
	records      records.Table
	notices      notices.Notifier
	view         *view.View
	logEnd       atomic.Uint64 // the last record in the log when the view began to follow it
	metrics      *metrics.Metrics
	content      *content.Store
	giver        *content.Server // of content
	histories    *content.Histories
	jobs         *jobs.Queue
	targets      *targets.Registry
	members      *members.HubSet
	users        users.Accounts
	requests     *requests.Handler
	certificates *certificates.Issuer
	opened       opened

	exporting limits.TargetLimiter

	again     chan struct{}
	againOnce sync.Once
	wanting   chan struct{} // signals that content may be missing

	remembered

	mu     sync.Mutex
	leader *leader
	out    assign.Output
	repo   sources
}

func (h *Hub) now() time.Time { return h.conf.Now() }

// context ends with this hub.
func (h *Hub) context() context.Context { return h.ctx }

// warn logs a message, unless this hub is retired.
func (h *Hub) warn(text string) {
	if h.members == nil {
		h.conf.warn(text)
		return
	}
	h.members.Log(text)
}

func (c Config) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}

// open opens the directory and starts the bus. Agents can connect then, but they get answers only
// after serve was called.
func (h *Hub) open(ctx context.Context) (err error) {
	if h.set, err = ReadSettings(h.conf.Files, h.conf.Dir); err != nil {
		return err
	}
	if h.keys, err = pki.OpenHub(h.conf.Files, h.dir("keys")); err != nil {
		return err
	}
	if h.services, err = pki.OpenServices(h.conf.Files, h.dir("keys")); err != nil {
		return err
	}
	h.revoked = &pki.Revocations{}
	h.members = members.New(h.membersConfig())
	if err := h.members.Open(); err != nil {
		return err
	}
	if h.content, err = content.OpenStore(h.conf.Files, h.dir("content"), 0); err != nil {
		return err
	}
	h.giver = &content.Server{Store: h.content, Authorize: h.mayRead}
	h.histories = h.newHistories()
	if h.view, err = view.Open(h.dir(viewFile), h.set.Retention.view()); err != nil {
		return err
	}
	h.metrics = metrics.New(metrics.Options{Views: h.view, Health: func(ctx context.Context) document.Health { return h.Health(ctx) }, Now: h.now, Version: h.conf.Version,
		Redundancy: h.members.Redundancy})
	if err := h.startBus(ctx); err != nil {
		return err
	}
	if err := h.openStores(ctx); err != nil {
		return err
	}
	if err := h.load(ctx); err != nil {
		return err
	}
	h.registrar = &pki.Registrar{
		Hub: h.keys, Revocations: h.revoked,
		Tokens: h.records.Buckets["tokens"], Targets: h.records.Buckets["targets"], RevocationStore: h.records.Buckets["facts"],
		Names: h.records.Buckets["names"],
		Now:   h.now, Addresses: h.members.Addresses, Audit: h.noted, Limit: &pki.Limit{}, Signers: h.members.SignerCertificates,
	}
	h.auditFile = &access.File{FS: h.conf.Files, Path: h.dir("audit.log")}
	if h.trail, err = access.OpenTrail(h.auditFile, h.set.Name, h.now); err != nil {
		return err
	}
	h.useMirrors()
	trust, err := h.trust()
	if err != nil {
		return err
	}
	h.gate = &access.Gate{Users: h.records.Users, Last: h.records.Users.Value, Trust: &trust, Limit: &pki.Limit{}, Now: h.now}
	return nil
}

func (h *Hub) dir(name string) string { return path.Join(h.conf.Dir, name) }

func (h *Hub) startBus(ctx context.Context) error {
	trust, err := h.trust()
	if err != nil {
		return err
	}
	foreign, err := h.foreign()
	if err != nil {
		return err
	}
	conf := trust.BusTLS(h.keys.TLS, h.now)
	_, agents := budgets(h.conf.Descriptors)
	h.bus, err = h.edge.bus(ctx, bus.Config{
		Dir: h.dir("bus"), Name: h.set.Name, Listen: h.set.Bus, TLS: conf, Warn: h.warn,
		Cluster: h.members.Cluster(trust), ExternalNats: foreign, Ready: h.mirrorsFilled, HandshakeLimiter: h.handshakeLimiter, Budget: agents,
		OnViolation: violations(h.now, h.recordViolation), Incompatible: h.notices.Incompatible,
		Identify: func(s *tls.ConnectionState) (fleet.TargetID, error) {
			p, err := trust.PeerOf(s, h.now(), pki.TargetKind)
			if err != nil {
				return "", err
			}
			h.rebuild(p)
			return fleet.ParseTargetID(p.Name.ID)
		},
	})
	if err == nil {
		h.exchange = h.bus.Exchange()
	}
	return err
}

func (h *Hub) openStores(ctx context.Context) error {
	if err := h.records.Open(ctx, h.bus.Store, records.Options{Away: h.members.MayChange,
		Assignment: h.parseAssignmentRecord, Pack: h.packer.Pack}); err != nil {
		return err
	}
	log, err := h.bus.Log(ctx, h.set.Retention.log())
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	h.events = events.Recorder{Hub: h.set.Name, Log: bus.NewGather(log, bus.GatherConfig{}), Now: h.now, Warn: h.warn}
	return nil
}

// useMirrors connects the mirrors with the parts of the hub that follow their changes.
func (h *Hub) useMirrors() {
	r := &h.records
	h.notices.Config = notices.Config{Hub: h.set.Name, Fleet: h.set.Fleet, Files: h.conf.Files, Dir: h.conf.Dir,
		Binary: h.conf.Binary, Now: h.now, Warn: h.warn, Context: h.context,
		Records: r, View: h.view, Events: h.events, RetryQueue: &h.retryQueue,
		Health: h.Health, Redundancy: h.members.RedundancyAlarms}
	h.sharedModules.store = r.Buckets["lists"]
	h.targets = targets.New(targets.Config{Hub: h.set.Name, Now: h.now, Warn: h.warn, Context: h.context,
		Records: r, View: h.view, Events: h.events, RetryQueue: &h.retryQueue, Exchange: h.exchange,
		Metrics: h.metrics, Registrar: h.registrar, LogEnd: h.logEnd.Load, Repository: h.repository, Released: h.onReleased})
	h.jobs = jobs.New(jobs.Config{Now: h.now, Warn: h.warn, Keep: h.set.Retention.jobs(), Records: r, Events: h.events,
		Exchange: h.exchange, Trusted: h.targets.Trusted, IsCloned: h.targets.IsCloned})
	h.certificates = certificates.New(certificates.Config{
		Hub: h.set.Name, URLs: slices.Concat(h.set.HubURLs, h.set.BusURLs), Alone: h.members.Alone(),
		Files: h.conf.Files, Dir: h.conf.Dir, Now: h.now, Warn: h.warn, Context: h.context,
		Records: r, Events: h.events, Exchange: h.exchange, Jobs: h.jobs,
		Keys: h.keys, Services: h.services, Revoked: h.revoked, Registrar: h.registrar,
		Active: h.targets.Active, IsMember: h.members.IsMember, Introduce: h.introduce})
	h.users.Config = users.Config{Fleet: h.set.Fleet, Now: h.now, Keep: h.set.Retention.events(), Records: r,
		Keys: h.keys, CheckHubToken: h.members.CheckHubToken}
	h.requests = requests.New(requests.Config{Hub: h.set.Name, Now: h.now, Warn: h.warn, Context: h.context, Answers: h.set.Requests,
		Records: r, Events: h.events, Targets: h.targets, Certificates: h.certificates, Audit: h.trail.Append})
	h.exporting = exportPaces()

	r.Members.Changed = h.members.OnMember
	r.Signers.Changed = h.members.OnSigner
	r.Targets.Changed = h.onTarget
	r.Assignments.Changed = h.onAssignmentRecord
	r.Jobs.Changed = func(_ string, r records.Job, _ uint64, gone bool) {
		if !gone {
			h.jobs.Offer(h.ctx, r)
		}
	}
	r.RevocationLists.Changed = h.certificates.OnList
	r.Repositories.Changed = func(string, records.Repository, uint64, bool) { h.refollow() }
	h.tellChanges()
}

// tellChanges passes the changes of mirrors to the leader, if this hub leads.
func (h *Hub) tellChanges() {
	r := &h.records
	r.Binaries.Changed = h.onBinarySet
	r.Exports.Changed = h.onExported
	r.Freezes.Changed = func(key string, f assign.Freeze, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: key, Freeze: unless(gone, &f)})
	}
	r.Refs.Changed = func(_ string, r records.Ref, rev uint64, gone bool) {
		if !gone {
			h.tell(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: r.Name, Ref: r.Result()})
		}
	}
	r.Approvals.Changed = func(key string, a assign.Approval, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.ApprovalEvent, Key: key, Approval: unless(gone, &a)})
	}
	r.MinimumGenerations.Changed = func(key string, f fleet.Have, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.MinimumGenerationEvent, Key: key, MinimumGeneration: unless(gone, &f)})
	}
}

// waitForMirrors waits until all mirrors are filled. Then it starts to serve agents.
func (h *Hub) waitForMirrors(ctx context.Context) error {
	if err := h.records.Filled(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-h.targets.Filled():
	}
	if err := errors.Join(h.members.Register(ctx), h.introduce(ctx), h.requests.Begin(ctx)); err != nil {
		return err
	}
	h.exchange.Presence(h.onPresence)
	if err := h.serve(); err != nil {
		return err
	}
	close(h.mirrorsFilled)
	h.members.SaveCache()
	return nil
}

func (h *Hub) close() error {
	var errs []error
	if h.bus != nil {
		h.bus.Close()
	}
	if h.view != nil {
		errs = append(errs, h.view.Close())
	}
	return errors.Join(errs...)
}
