package largefleet

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// moduleNames are the modules of all targets. Commits change them by turns.
var moduleNames = []string{"modules/base", "modules/web"}

// release returns the release of the operating system of the i-th target: a third has bookworm.
func release(i int) string {
	if spread(i, "release")%3 == 0 {
		return "bookworm"
	}
	return "trixie"
}

// simFleet is a fleet in virtual time: real leaders and records of hubs, storage in memory, and simple agents.
type simFleet struct {
	t       *testing.T
	began   time.Time
	key     ed25519.PrivateKey
	content *content.Store
	log     *bustest.Log
	stores  map[string]*bustest.Store
	hubs    []*hub
	started int            // hubs
	watch   *records.Table // follows the storage for the agents and the judge
	unwatch func()

	compiled   []query.Target
	strategies []query.Strategy

	mu       sync.Mutex
	commits  map[string]version
	versions map[string]map[string]int // by module and digest of its bundle
	agents   map[fleet.TargetID]*agent
	order    []*agent
	changed  chan struct{} // closed when an agent reports
	behaves  behaviour
	judge    *judge
	cost     costs
}

// version is the content of a commit: the numbers of the commits that changed the modules.
type version map[string]int

// inFleet runs a function with a fleet of n targets in virtual time. All targets have the version 1.
func inFleet(t *testing.T, n int, run func(f *simFleet)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, n)
		f.startAll(1)
		f.selectStrategy("at-once")
		f.commit("modules/base", "modules/web")
		f.until(time.Minute, "the begin", func() bool { return f.judge.haveAll(1) })
		f.judge.begin()
		run(f)
		f.endAll()
		f.unwatch()
	})
}

func newFleet(t *testing.T, n int) *simFleet {
	store, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	f := &simFleet{t: t, began: time.Now(), key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), content: store,
		commits: map[string]version{}, versions: map[string]map[string]int{}, agents: map[fleet.TargetID]*agent{},
		changed: make(chan struct{}), judge: newJudge(n), behaves: good}
	f.judge.fleet = f
	for _, m := range moduleNames {
		f.versions[m] = map[string]int{}
	}
	f.use(map[string]*bustest.Store{}, bustest.NewLog())
	for i := range n {
		f.enrol(i)
	}
	return f
}

// use makes the hubs use a storage.
func (f *simFleet) use(stores map[string]*bustest.Store, log *bustest.Log) {
	for _, name := range records.Names() {
		if stores[name] == nil {
			stores[name] = bustest.NewStore()
		}
	}
	f.stores, f.log = stores, log
	ctx, cancel := context.WithCancel(context.Background())
	t, _, err := f.open(ctx, &process{})
	if err != nil {
		f.t.Fatal(err)
	}
	t.Assignments.Changed = func(_ string, a records.Assignment, _ uint64, gone bool) {
		if !gone {
			f.issued(a)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	t.Follow(ctx, g)
	f.watch, f.unwatch = t, func() {
		cancel()
		_ = g.Wait()
	}
	synctest.Wait()
}

// enrol adds the i-th target to the registry.
func (f *simFleet) enrol(i int) {
	a := &agent{Target: fleet.Target{ID: bustest.ID(i + 1), Name: fmt.Sprintf("t%05d", i), Standing: fleet.Active,
		Labels: map[string]string{"os": release(i)}}, i: i, online: true, contact: time.Now()}
	text, err := json.Marshal(a.Target)
	if err == nil {
		_, err = f.stores["targets"].Put(context.Background(), string(a.ID), text)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.agents[a.ID] = a
	f.order = append(f.order, a)
}

// selectStrategy selects the strategy of all targets for the next commits.
func (f *simFleet) selectStrategy(strategy string) {
	uses := make([]query.Use, len(moduleNames))
	for i, m := range moduleNames {
		uses[i].Directory = m
	}
	all := make([]query.Target, 0, len(f.order))
	for _, a := range f.order {
		all = append(all, query.Target{Name: a.Name, Labels: a.Labels, Modules: moduleNames, Uses: uses, Strategy: strategy,
			Enrolled: true})
	}
	f.compiled = all
}

// commit changes modules in a new commit of the branch, and returns its number.
func (f *simFleet) commit(modules ...string) int {
	f.mu.Lock()
	n := len(f.commits) + 1
	v := version{}
	maps.Copy(v, f.commits[commitName(n-1)])
	for _, m := range modules {
		v[m] = n
	}
	f.commits[commitName(n)] = v
	f.mu.Unlock()
	tree := f.tree(commitName(n))
	for _, m := range moduleNames {
		var b bytes.Buffer
		info, err := content.Pack(&b, tree, m)
		if err != nil {
			f.t.Fatal(err)
		}
		f.mu.Lock()
		f.versions[m][info.Digest] = v[m]
		f.mu.Unlock()
	}
	f.note("commit %d changes %v", n, modules)
	f.setHead(commitName(n))
	return n
}

func commitName(n int) string { return fmt.Sprintf("%040d", n) }

func (f *simFleet) tree(commit string) repo.Tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := map[string]string{"fettle.hcl": "# the fleet"}
	for m, n := range f.commits[commit] {
		files[m+"/version"] = fmt.Sprint(n)
	}
	return repo.MapTree(files)
}

func (f *simFleet) signingKey() ed25519.PrivateKey { return f.key }

func (f *simFleet) signingKeys() (fleet.Keys, error) {
	return fleet.KeysOf(f.key.Public().(ed25519.PublicKey)), nil
}

func (f *simFleet) note(format string, a ...any) {
	f.t.Logf("%9s %s", time.Since(f.began).Round(time.Second), fmt.Sprintf(format, a...))
}

// until waits until a condition holds.
func (f *simFleet) until(most time.Duration, what string, holds func() bool) bool {
	f.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(time.Second) {
		if time.Since(began) > most {
			f.t.Errorf("after %s this does not hold: %s\n%s%s", most, what, f.judge, f.rollouts())
			return false
		}
	}
	f.note("%s\n%s%s", what, f.judge, f.rollouts())
	return true
}
