package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path"
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
	"fettle.dev/fettle/internal/fleet/hub/metrics"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/repo"
)

// Compiler compiles the inventory of a repository. *limited.Compiler implements it.
type Compiler interface {
	Targets(tree repo.Tree) ([]lang.Target, diag.List)
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
	// Free returns the free and the total bytes of the file system of a directory. If it is nil,
	// the hub does not check the disk.
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
	records   *access.File // of trail

	bus           shared
	exchange      fleet.Exchange
	log           fleet.Log
	stores        map[string]fleet.Store
	view          *view.View
	logEnd        atomic.Uint64 // the last record in the log when the view began to follow it
	metrics       *metrics.Metrics
	content       *content.Store
	giver         *content.Server // of content
	histories     *content.Histories
	jobDispatcher *jobDispatcher
	opened        opened

	targets            *mirror[fleet.Target]
	assignments        *mirror[assignmentRecord]
	jobs               *mirror[Job]
	rules              *mirror[rule]
	freezes            *mirror[assign.Freeze]
	binaries           *mirror[assign.BinarySetting]
	approvals          *mirror[assign.Approval]
	refs               *mirror[namedRef]
	minimumGenerations *mirror[fleet.Have]
	signers            *mirror[[]byte]
	sources            *mirror[Repository]
	exports            *mirror[exportRecord]
	exporting          targetLimiter
	requests           *mirror[pendingRequest]
	requestPolicies    *mirror[fleet.RequestPolicy]
	requestLimiter     targetLimiter
	targetCertificates *mirror[targetCertificates]
	certifying         targetLimiter
	crls               *mirror[keptList]
	listing            sync.Mutex // held while a list is signed
	reporting          targetLimiter
	members            *mirror[Member]
	leaving            *mirror[leaving]
	lost               *mirror[Member] // hubs that were in the fleet before it was restored
	claims             *claims

	circling    sync.Mutex // held while the file of the peer cache is written
	peers       *peerCache // the other hubs at the start; nil for a hub that is alone
	again       chan struct{}
	againOnce   sync.Once
	dismissed   chan struct{} // closed when this hub is retired
	dismissOnce sync.Once
	wanting     chan struct{} // signals that content may be missing

	remembered

	notifications *mirror[document.Notification]
	users, tokens lastKnown
	notices       *mirror[notify.State]
	alarms        *mirror[[]assign.Alarm]
	incompatible  *mirror[incompatible]

	mu     sync.Mutex
	leader *leader
	out    assign.Output
	repo   sources
	skewed map[fleet.TargetID]bool // targets with a wrong clock
}

func (h *Hub) now() time.Time { return h.conf.Now() }

// warn logs a message. A retired hub logs only that it is retired: the other hubs disconnect it, and
// many messages result from that.
func (h *Hub) warn(text string) {
	select {
	case <-h.dismissed:
	default:
		h.conf.warn(text)
	}
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
	if h.peers, err = readPeerCache(h.conf.Files, h.conf.Dir); err != nil {
		return err
	}
	if h.usesExternalNats() && h.peers == nil {
		h.peers = &peerCache{} // other hubs may join at any time
	}
	h.revoked = &pki.Revocations{}
	if h.content, err = content.OpenStore(h.conf.Files, h.dir("content"), 0); err != nil {
		return err
	}
	h.giver = &content.Server{Store: h.content, Authorize: h.mayRead}
	h.histories = h.newHistories()
	if h.view, err = view.Open(h.dir(viewFile), h.set.Retention.view()); err != nil {
		return err
	}
	h.metrics = metrics.New(metrics.Options{Views: h.view, Health: func(ctx context.Context) document.Health { return h.Health(ctx) }, Now: h.now, Version: h.conf.Version,
		Redundancy: func() (string, int) { return h.redundancy.now(h.now()) }})
	if err := h.startBus(ctx); err != nil {
		return err
	}
	if err := h.openStores(ctx); err != nil {
		return err
	}
	if err := h.load(ctx); err != nil {
		return err
	}
	h.makeMirrors()
	h.registrar = &pki.Registrar{
		Hub: h.keys, Revocations: h.revoked,
		Tokens: h.stores["tokens"], Targets: h.stores["targets"], RevocationStore: h.stores["facts"], Names: h.stores["names"],
		Now: h.now, Addresses: h.hubAddresses, Audit: h.noted, Limit: &pki.Limit{}, Signers: h.signerCertificates,
	}
	trust, err := h.trust()
	if err != nil {
		return err
	}
	h.gate = &access.Gate{Users: h.users, Last: h.users.value, Trust: &trust, Limit: &pki.Limit{}, Now: h.now}
	h.records = &access.File{FS: h.conf.Files, Path: h.dir("audit.log")}
	h.trail, err = access.OpenTrail(h.records, h.set.Name, h.now)
	return err
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
		Cluster: h.cluster(trust), ExternalNats: foreign, Ready: h.mirrorsFilled, HandshakeLimiter: h.handshakeLimiter, Budget: agents,
		OnViolation: violations(h.now, h.recordViolation), Incompatible: h.onIncompatible,
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

// buckets are the names of the stores that all hubs share.
var buckets = [...]string{"targets", "tokens", "assignments", "lists", "requests", "results", "facts", "names", "leases", "settings", "people", "notices", "exports"}

func (h *Hub) openStores(ctx context.Context) error {
	h.stores = map[string]fleet.Store{}
	for _, name := range buckets {
		s, err := h.bus.Store(ctx, name)
		if err != nil {
			return fmt.Errorf("cannot open the bucket %s: %w", name, err)
		}
		h.stores[name] = s
	}
	events, err := h.bus.Log(ctx, h.set.Retention.log())
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	h.log = bus.NewGather(events, bus.GatherConfig{})
	return nil
}

func raw(b []byte) ([]byte, error) { return b, nil }

func (h *Hub) makeMirrors() {
	settings := h.stores["settings"]
	h.sharedModules.store = h.stores["lists"]
	h.targets = newMirror(h.stores["targets"], "", h.parseTarget)
	h.assignments = newMirror(h.stores["assignments"], "", h.parseAssignmentRecord)
	h.assignments.format = h.packer.pack
	h.jobs = newMirror(h.stores["requests"], "", parseJob)
	h.jobs.format = formatJob
	h.rules = newMirror[rule](settings, "rule/", nil)
	h.freezes = newMirror[assign.Freeze](settings, "freeze/", nil)
	h.binaries = newMirror[assign.BinarySetting](settings, "program/", nil)
	h.approvals = newMirror[assign.Approval](settings, "approval/", nil)
	h.refs = newMirror[namedRef](settings, "ref/", nil)
	h.minimumGenerations = newMirror[fleet.Have](settings, "floor/", nil)
	h.signers = newMirror(settings, "signer/", raw)
	h.sources = newMirror[Repository](settings, "repository/", nil)
	h.exports = newMirror(h.stores["exports"], "", parseExportRecord)
	h.members = newMirror[Member](settings, memberPrefix, nil)
	h.lost = newMirror[Member](settings, lostPrefix, nil)
	h.leaving = newMirror[leaving](settings, "leaving/", nil)
	h.members.changed = h.onMember
	h.signers.changed = h.onSigner
	h.notifications = newMirror[document.Notification](settings, "notify/", nil)
	h.notices = newMirror[notify.State](h.stores["notices"], "rule/", nil)
	h.alarms = newMirror[[]assign.Alarm](h.stores["notices"], "alarms/", nil)
	h.incompatible = newMirror[incompatible](h.stores["notices"], "protocol/", nil)
	h.users, h.tokens = newLastKnown(h.stores["people"], h.MayChange), newLastKnown(h.stores["tokens"], h.MayChange)
	h.claims = newClaims(h)
	h.jobDispatcher = newJobDispatcher(h.jobs, h.exchange, h.now, h.claims.isCloned, func(err error) { h.warn(err.Error()) })

	h.targets.changed = h.onTarget
	h.assignments.changed = h.onAssignmentRecord
	h.jobs.changed = func(_ string, r Job, _ uint64, gone bool) {
		if !gone {
			h.jobDispatcher.offer(h.ctx, r)
		}
	}
	h.freezes.changed = func(key string, f assign.Freeze, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: key, Freeze: unless(gone, &f)})
	}
	h.binaries.changed = h.onBinarySet
	h.refs.changed = func(_ string, r namedRef, rev uint64, gone bool) {
		if !gone {
			h.tell(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: r.Name, Ref: r.ref()})
		}
	}
	h.exports.changed, h.exporting, h.reporting = h.onExported, exportPaces(), reportPaces()
	h.requests, h.requestLimiter = newMirror[pendingRequest](settings, "ask/", nil), newRequestLimiter()
	h.targetCertificates, h.certifying = newMirror[targetCertificates](settings, "served/", nil), certifyPaces()
	h.crls = newMirror[keptList](settings, "list/", nil)
	h.crls.changed = h.onList
	h.requestPolicies = newMirror(settings, "askpolicy/", parseRequestPolicy)
	h.sources.changed = func(string, Repository, uint64, bool) { h.refollow() }
	h.approvals.changed = func(key string, a assign.Approval, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.ApprovalEvent, Key: key, Approval: unless(gone, &a)})
	}
	h.minimumGenerations.changed = func(key string, f fleet.Have, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, Kind: assign.MinimumGenerationEvent, Key: key, MinimumGeneration: unless(gone, &f)})
	}
}

func (h *Hub) mirrored() []followed {
	return []followed{h.signers, h.targets, h.assignments, h.jobs, h.rules, h.freezes, h.binaries, h.approvals, h.refs, h.minimumGenerations, h.sources, h.exports, h.requests, h.requestPolicies, h.targetCertificates, h.crls, h.notifications, h.notices, h.alarms, h.incompatible, h.members, h.leaving, h.lost, h.users, h.tokens, h.claims}
}

// waitForMirrors waits until all mirrors are filled. Then it starts to serve agents.
func (h *Hub) waitForMirrors(ctx context.Context) error {
	for _, m := range h.mirrored() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.filled():
		}
	}
	if err := errors.Join(h.registerMember(ctx), h.introduce(ctx), h.beginRequestPolicy(ctx)); err != nil {
		return err
	}
	h.exchange.Presence(h.onPresence)
	if err := h.serve(); err != nil {
		return err
	}
	close(h.mirrorsFilled)
	h.savePeerCache()
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
