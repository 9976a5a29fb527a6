package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host/mem"
)

// sim is a fleet in virtual time. Hubs, agents, certificates and content are real; the bus, git,
// disks and the network are in memory.
type sim struct {
	dir    string // of read models, on the disk of this machine
	files  *mem.FS
	site   *site
	agents []*simAgent
	hubs   []*simHub
	// descent is required by all agents; oldHub makes hubs behave as if they had no histories.
	descent content.Descent
	oldHub  atomic.Bool
	// unsigned agents accept all commits.
	unsigned bool
	judge    *rollbacks // or nil

	mu     sync.Mutex
	kept   *shelf
	issued map[string]fleet.Assignment // by target and number
	// intended are the assignments that a hub tried to write.
	intended map[string][]fleet.Assignment
	wrong    []string
	trace    []string
	fuse     fuse        // kills a hub
	failing  atomic.Bool // tasks of scopes fail
	// forbidden means that hubs may not do tasks. hubTasks are the newest fences of tasks that hubs did.
	forbidden atomic.Bool
	hubTasks  map[string]uint64
	tasks     map[string]uint64       // the newest fence of each task, by its name and content
	lost      uint64                  // time in ms at which the hubs lost data, and with it attempts of tasks
	provers   map[fleet.TargetID]bool // targets with assignments that the hubs lost
}

// simHub is a place for a hub, which may run or not.
type simHub struct {
	sim  *sim
	name string
	stop func()
	dead *atomic.Bool // of the process; nil before the first start

	mu       sync.Mutex
	run      *Hub // nil while it is down
	net      *bustest.Net
	wire     *wire
	identify func(*tls.ConnectionState) (fleet.TargetID, error)
	ready    chan struct{}
}

func (s *sim) fault(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, a...))
}

func (s *sim) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf("%10s %s", time.Since(simBegin).Round(time.Second), fmt.Sprintf(format, a...)))
}

// simBegin is the start time of every bubble.
var simBegin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newSim(hubs int) (*sim, error) {
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		return nil, err
	}
	s := &sim{dir: dir, files: mem.NewFS(mem.Options{}), site: newSite(), kept: newShelf(),
		issued: map[string]fleet.Assignment{}, intended: map[string][]fleet.Assignment{}}
	for i := range hubs {
		name := fmt.Sprintf("hub%d", i+1)
		h := &simHub{sim: s, name: name}
		s.hubs = append(s.hubs, h)
		if err := errors.Join(os.Mkdir(h.dir(), 0o700), smallfile.Directory(s.files, h.dir())); err != nil {
			return nil, err
		}
	}
	for _, h := range s.hubs {
		if err := h.birth(h == s.hubs[0]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (h *simHub) dir() string { return filepath.Join(h.sim.dir, h.name) }

// birth creates the first hub, or another hub of the same fleet CA.
func (h *simHub) birth(first bool) error {
	set := Settings{Format: settingsFormat, Fleet: "acme", Name: h.name, API: "x:1", Bus: "x:2",
		BusURLs:    []string{"tls://x:2"},
		Repository: records.Repository{Name: "site", URL: "file:///site", Branch: "main"}}
	for _, o := range h.sim.hubs {
		set.HubURLs = append(set.HubURLs, "https://"+o.name+":1")
	}
	now, files := time.Now(), h.sim.files
	if first {
		authority, err := Init(InitOptions{Files: files, Dir: h.dir(), Settings: set, Hosts: []string{h.name}, Now: now})
		h.sim.site.bound = content.FleetFile(authority)
		return err
	}
	root, err := pki.OpenCA(files, h.sim.hubs[0].dir()+"/authority")
	if err != nil {
		return err
	}
	keys, err := pki.OpenHub(files, h.dir()+"/keys")
	if err != nil {
		return err
	}
	jobID, err := keys.Request()
	if err != nil {
		return err
	}
	certificates, err := root.Certify(jobID, h.name, []string{h.name}, now)
	if err != nil {
		return err
	}
	text, err := json.Marshal(set)
	return errors.Join(err, keys.Install(certificates), smallfile.Write(files, h.dir()+"/hub.json", text))
}

// start starts the hub, and waits until it serves.
func (h *simHub) start() {
	if h.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	dead := &atomic.Bool{}
	h.dead = dead
	h.sim.mu.Lock()
	b := &simBus{sim: h.sim, kept: h.sim.kept, dead: dead}
	h.sim.mu.Unlock()
	h.ready = make(chan struct{})
	e := dependencies{
		bus: func(ctx context.Context, c bus.Config) (shared, error) {
			b.net = bustest.NewNet(ctx, bustest.Faults{})
			h.mu.Lock()
			h.net, h.identify = b.net, c.Identify
			h.mu.Unlock()
			return b, nil
		},
		sources: h.sim.site.clone,
		history: h.sim.site.history,
	}
	warn := func(text string) { h.sim.note("%s: %s", h.name, text) }
	c := Config{Files: simFiles{h.sim.files, h.sim, dead}, Dir: h.dir(), Compile: simCompiler{}, Now: time.Now, Warn: warn,
		Tasks: simTasks{h.sim, h.name, dead}, Signers: h.sim.signers}
	run := newHub(ctx, c, e, h.serveWire)
	ended := make(chan error, 1)
	go func() { ended <- run.run(ctx) }()
	h.stop = func() {
		dead.Store(true)
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, errDead) {
			h.sim.fault("%s ended with %v", h.name, err)
		}
		h.stop = nil
	}
	select {
	case <-h.ready:
	case err := <-ended:
		h.sim.fault("%s does not start: %v", h.name, err)
		ended <- nil
	}
}

func (h *simHub) opened(of *Hub, w *wire) {
	h.mu.Lock()
	h.run, h.wire = of, w
	h.mu.Unlock()
	if of != nil {
		close(h.ready)
	}
}

// serving returns the running hub of this place, or nil.
func (h *simHub) serving() *Hub {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run
}

// any returns a running hub, or nil.
func (s *sim) any() *Hub {
	for _, h := range s.hubs {
		if r := h.serving(); r != nil {
			return r
		}
	}
	return nil
}

// connect connects an agent to the bus of a hub, with its certificate.
func (h *simHub) connect(id *pki.Identity) (bus.Connection, <-chan struct{}, error) {
	h.mu.Lock()
	net, identify := h.net, h.identify
	up := h.run != nil
	h.mu.Unlock()
	if !up {
		return nil, nil, errors.New("connection refused")
	}
	own, err := id.OwnCertificate()
	if err != nil {
		return nil, nil, err
	}
	var chain []*x509.Certificate
	for _, raw := range own.Certificate {
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, nil, err
		}
		chain = append(chain, c)
	}
	who, err := identify(&tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, PeerCertificates: chain})
	if err != nil {
		return nil, nil, err
	}
	return net.Connect(who)
}

// written decodes an assignment that a hub writes.
func (s *sim) written(k *shelf, value []byte) (key string, a fleet.Assignment) {
	a, err := k.unpacked(value)
	if err != nil {
		s.fault("what a hub wrote cannot be read: %v", err)
	}
	return fmt.Sprintf("%s %d.%d", a.Target, a.Epoch, a.Generation), a
}

// unpacked returns the assignment of an entry of the store, without verification.
func (k *shelf) unpacked(value []byte) (fleet.Assignment, error) {
	var p records.Packer
	r, err := p.Unpack(value)
	if err != nil {
		return fleet.Assignment{}, err
	}
	// The copy is readable while other stores fail.
	table := &records.Table{Buckets: map[string]fleet.Store{"lists": k.stores["lists"].Copy()}}
	store := assignments.New(assignments.Config{Records: table, Context: context.Background})
	text, _, err := store.Text(r)
	if err != nil {
		return fleet.Assignment{}, err
	}
	return fleet.ParseAssignment(text)
}

// intend records an assignment that a hub is about to write.
func (s *sim) intend(k *shelf, value []byte) {
	key, a := s.written(k, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intended[key] = append(s.intended[key], a)
}

// issue records a written assignment: a number must always identify the same assignment.
func (s *sim) issue(k *shelf, value []byte) {
	key, a := s.written(k, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.issued[key]; ok && !was.Same(a) {
		s.wrong = append(s.wrong, fmt.Sprintf("%s is two different assignments:\n%s\n%s", key, was.Marshal(), a.Marshal()))
	}
	if _, ok := s.issued[key]; !ok && s.judge != nil {
		s.judge.judge(s, a)
	}
	s.issued[key] = a
}

// assigned reports whether a hub wrote an assignment.
func (s *sim) assigned(a fleet.Assignment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.intended[fmt.Sprintf("%s %d.%d", a.Target, a.Epoch, a.Generation)], a.Same)
}

// given returns the assignment with a number. An agent may have it before its write has returned.
func (s *sim) given(id fleet.TargetID, epoch, generation uint64) (fleet.Assignment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %d.%d", id, epoch, generation)
	if a, ok := s.issued[key]; ok {
		return a, true
	}
	if writing := s.intended[key]; len(writing) > 0 {
		return writing[len(writing)-1], true
	}
	return fleet.Assignment{}, false
}

// backup copies the store, like a copy of the directory of a bus.
func (s *sim) backup() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &shelf{stores: map[string]*bustest.Store{}, log: s.kept.log.Copy(), acked: map[string]string{}}
	for name, store := range s.kept.stores {
		out.stores[name] = store.Copy()
	}
	for k, v := range s.kept.acked {
		out.acked[k] = v
	}
	return out
}

// enrol creates an agent with a token of a running hub.
func (s *sim) enrol(labels map[string]string) (*simAgent, error) {
	h := s.any()
	if h == nil {
		return nil, nil
	}
	ctx := context.Background()
	t, err := h.users.CreateToken(ctx, api.Caller{Principal: ann}, document.TokenRequest{Labels: labels, Uses: 1})
	if err != nil {
		return nil, err
	}
	token, err := pki.ParseToken(t.Secret)
	if err != nil {
		return nil, err
	}
	a := newSimAgent(s, fmt.Sprintf("t%d", len(s.agents)+1), labels)
	for _, hub := range s.hubs {
		if hub.serving() == nil {
			continue
		}
		if a.id, err = a.client().Enrol(ctx, "https://"+hub.name+":1", token, a.name); err != nil {
			return nil, err
		}
		break
	}
	s.agents = append(s.agents, a)
	return a, nil
}

func (s *sim) end() {
	for _, a := range s.agents {
		a.crash()
	}
	for _, h := range s.hubs {
		if h.stop != nil {
			h.stop()
		}
	}
	time.Sleep(time.Minute) // let the background write of a batch end
	_ = os.RemoveAll(s.dir)
}

func (s *sim) story() string { return strings.Join(s.trace, "\n") }
