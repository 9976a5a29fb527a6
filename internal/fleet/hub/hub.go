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

// Compiler says what a repository configures. *limited.Compiler is one.
type Compiler interface {
	Targets(tree repo.Tree) ([]lang.Target, diag.List)
}

// Config is what a hub works with.
type Config struct {
	Files   host.FS
	Dir     string
	Compile Compiler
	// Socket is a file at which every client is an administrator; "" is none. Listen makes
	// it, and accepts only root and the user of this process.
	Socket string
	Listen func(socket string) (net.Listener, error)
	Now    func() time.Time
	// Program runs a program of the hub's folder with something on standard input, for
	// somebody who is to be notified. nil runs none.
	Program func(ctx context.Context, argv []string, stdin []byte) error
	// Free tells how many bytes are free where a folder is, and how many there are. nil
	// is not known.
	Free func(dir string) (free, all uint64, err error)
	// Descriptors is how many files this process may have open; 0 is 65,536.
	Descriptors int
	// Version is that of this program.
	Version string
	// Warn is told what went wrong and goes on; Ready once, when agents are served.
	Warn  func(text string)
	Ready func(api, bus net.Addr)
}

// Hub is one that runs.
type Hub struct {
	conf Config
	edge edge
	set  Settings
	// settled is closed when agents may come.
	settled   chan struct{}
	turnstile *bus.Turnstile
	ctx       context.Context // of Run: what goes on beside a question ends with it

	keys      *pki.Hub
	services  *pki.Services
	revoked   *pki.Revocations
	registrar *pki.Registrar
	gate      *access.Gate
	trail     *access.Trail
	records   *access.File // of trail

	bus       shared
	exchange  fleet.Exchange
	log       fleet.Log
	stores    map[string]fleet.Store
	view      *view.View
	logEnd    atomic.Uint64 // where the log ended when the view began to follow it
	metrics   *metrics.Metrics
	content   *content.Store
	giver     *content.Server // of content
	histories *content.Histories
	courier   *courier
	opened    opened

	targets     *mirror[fleet.Target]
	assignments *mirror[given]
	requests    *mirror[Request]
	rules       *mirror[rule]
	freezes     *mirror[assign.Freeze]
	programs    *mirror[assign.Programmed]
	approvals   *mirror[assign.Approval]
	refs        *mirror[namedRef]
	floors      *mirror[fleet.Have]
	signers     *mirror[[]byte]
	sources     *mirror[Repository]
	exports     *mirror[exportRecord]
	exporting   paces
	asks        *mirror[heldAsk]
	askPolicies *mirror[fleet.AskPolicy]
	asking      paces
	served      *mirror[served]
	certifying  paces
	crls        *mirror[keptList]
	listing     sync.Mutex // who signs a list
	reporting   paces
	members     *mirror[Member]
	leaving     *mirror[leaving]
	lost        *mirror[Member] // that were in the fleet before it was restored
	claims      *claims

	circling    sync.Mutex // of the file of the circle
	circle      *circle    // whom this hub knew when it began, nil for one that is alone
	again       chan struct{}
	againOnce   sync.Once
	dismissed   chan struct{} // closed when this hub is retired
	dismissOnce sync.Once
	wanting     chan struct{} // there may be content to get

	remembered

	notifications  *mirror[document.Notification]
	people, tokens lastKnown
	notices        *mirror[notify.State]
	alarms         *mirror[[]assign.Alarm]
	incompatible   *mirror[incompatible]

	mu     sync.Mutex
	leader *leader
	out    assign.Output
	repo   sources
	skewed map[fleet.TargetID]bool // whose clock is wrong
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

// open opens the folder and starts the bus. Agents that connect from then on are
// answered when serve has been called.
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
	if h.circle, err = readCircle(h.conf.Files, h.conf.Dir); err != nil {
		return err
	}
	if h.isForeign() && h.circle == nil {
		h.circle = &circle{} // others may join at any time
	}
	h.revoked = &pki.Revocations{}
	if h.content, err = content.OpenStore(h.conf.Files, h.dir("content"), 0); err != nil {
		return err
	}
	h.giver = &content.Server{Store: h.content, May: h.mayRead}
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
		Tokens: h.stores["tokens"], Targets: h.stores["targets"], Facts: h.stores["facts"], Names: h.stores["names"],
		Now: h.now, Reach: h.reach, Note: h.noted, Limit: &pki.Limit{}, Signers: h.signerCertificates,
	}
	trust, err := h.trust()
	if err != nil {
		return err
	}
	h.gate = &access.Gate{People: h.people, Last: h.people.value, Trust: &trust, Limit: &pki.Limit{}, Now: h.now}
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
		Cluster: h.cluster(trust), Foreign: foreign, Ready: h.settled, Turnstile: h.turnstile, Budget: agents,
		Broke: violations(h.now, h.recordViolation), Incompatible: h.onIncompatible,
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

// buckets are what hubs share.
var buckets = [...]string{"targets", "tokens", "assignments", "lists", "requests", "results", "facts", "names", "leases", "settings", "people", "notices", "exports"}

func (h *Hub) openStores(ctx context.Context) error {
	h.stores = map[string]fleet.Store{}
	for _, name := range buckets {
		s, err := h.bus.Store(ctx, name)
		if err != nil {
			return fmt.Errorf("cannot open what is kept of %s: %w", name, err)
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
	h.commons.store = h.stores["lists"]
	h.targets = newMirror(h.stores["targets"], "", h.parseTarget)
	h.assignments = newMirror(h.stores["assignments"], "", h.parseGiven)
	h.assignments.format = h.packer.pack
	h.requests = newMirror(h.stores["requests"], "", parseRequest)
	h.requests.format = formatRequest
	h.rules = newMirror[rule](settings, "rule/", nil)
	h.freezes = newMirror[assign.Freeze](settings, "freeze/", nil)
	h.programs = newMirror[assign.Programmed](settings, "program/", nil)
	h.approvals = newMirror[assign.Approval](settings, "approval/", nil)
	h.refs = newMirror[namedRef](settings, "ref/", nil)
	h.floors = newMirror[fleet.Have](settings, "floor/", nil)
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
	h.people, h.tokens = newLastKnown(h.stores["people"], h.MayChange), newLastKnown(h.stores["tokens"], h.MayChange)
	h.claims = newClaims(h)
	h.courier = newCourier(h.requests, h.exchange, h.now, h.claims.isCloned, func(err error) { h.warn(err.Error()) })

	h.targets.changed = h.onTarget
	h.assignments.changed = h.onGiven
	h.requests.changed = func(_ string, r Request, _ uint64, gone bool) {
		if !gone {
			h.courier.offer(h.ctx, r)
		}
	}
	h.freezes.changed = func(key string, f assign.Freeze, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, What: assign.FreezeEvent, Key: key, Freeze: unless(gone, &f)})
	}
	h.programs.changed = h.onProgrammed
	h.refs.changed = func(_ string, r namedRef, rev uint64, gone bool) {
		if !gone {
			h.tell(assign.Event{Rev: rev, What: assign.RefEvent, Key: r.Name, Ref: r.ref()})
		}
	}
	h.exports.changed, h.exporting, h.reporting = h.onExported, exportPaces(), reportPaces()
	h.asks, h.asking = newMirror[heldAsk](settings, "ask/", nil), askPaces()
	h.served, h.certifying = newMirror[served](settings, "served/", nil), certifyPaces()
	h.crls = newMirror[keptList](settings, "list/", nil)
	h.crls.changed = h.onList
	h.askPolicies = newMirror(settings, "askpolicy/", parseAskPolicy)
	h.sources.changed = func(string, Repository, uint64, bool) { h.refollow() }
	h.approvals.changed = func(key string, a assign.Approval, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, What: assign.ApprovalEvent, Key: key, Approval: unless(gone, &a)})
	}
	h.floors.changed = func(key string, f fleet.Have, rev uint64, gone bool) {
		h.tell(assign.Event{Rev: rev, What: assign.FloorEvent, Key: key, Floor: unless(gone, &f)})
	}
}

func (h *Hub) mirrored() []followed {
	return []followed{h.signers, h.targets, h.assignments, h.requests, h.rules, h.freezes, h.programs, h.approvals, h.refs, h.floors, h.sources, h.exports, h.asks, h.askPolicies, h.served, h.crls, h.notifications, h.notices, h.alarms, h.incompatible, h.members, h.leaving, h.lost, h.people, h.tokens, h.claims}
}

// settle waits until all mirrors are filled, and only then lets agents ask.
func (h *Hub) settle(ctx context.Context) error {
	for _, m := range h.mirrored() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.filled():
		}
	}
	if err := errors.Join(h.enlist(ctx), h.introduce(ctx), h.beginAskPolicy(ctx)); err != nil {
		return err
	}
	h.exchange.Presence(h.onPresence)
	if err := h.serve(); err != nil {
		return err
	}
	close(h.settled)
	h.keepCircle()
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
