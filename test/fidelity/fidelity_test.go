package fidelity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/powercut"
)

func TestMain(m *testing.M) { os.Exit(powercut.Main(m)) }

// top is the directory that trees are planted in.
const top = "/t"

// trees is how many random trees a file system gets.
func trees(fs filesystem) int {
	many := map[string]int{"ext4": 180, "xfs": 50, "btrfs": 40, "tmpfs": 30}
	if os.Getenv("FETTLE_LONG") != "" {
		many = map[string]int{"ext4": 6000, "xfs": 2000, "btrfs": 1000, "tmpfs": 1000}
	}
	return many[fs.name]
}

// TestFidelity: whatever a tree holds, what a list does to it can be undone,
// and the same list again does nothing at all.
func TestFidelity(t *testing.T) {
	only, number, one := strings.Cut(os.Getenv("FETTLE_TREE"), "/")
	for _, fs := range filesystems {
		if one && fs.name != only {
			continue
		}
		t.Run(fs.name, func(t *testing.T) {
			c := &campaignOf{t: t, fs: fs, mount: fs.mount(t), tally: map[string]int{}}
			if one {
				n, err := strconv.Atoi(number)
				must(t, err)
				c.loud = true
				c.tree(n, filepath.Join(c.mount, "one"))
				return
			}
			c.all(trees(fs))
		})
	}
}

// campaignOf is what was tried on one file system.
type campaignOf struct {
	t     *testing.T
	fs    filesystem
	mount string
	loud  bool

	mu                                   sync.Mutex
	tally                                map[string]int
	points, applied, failed, same, wrong int
}

// all plants n trees, some at the same time.
func (c *campaignOf) all(n int) {
	todo := make(chan int)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range todo {
				c.tree(i, filepath.Join(c.mount, "root"+strconv.Itoa(w)))
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	wg.Wait()
	var held []string
	for _, k := range slices.Sorted(maps.Keys(c.tally)) {
		held = append(held, fmt.Sprintf("%s %d", k, c.tally[k]))
	}
	c.t.Logf("%d trees with %s", n, strings.Join(held, ", "))
	c.t.Logf("%d lists applied, %d refused or failed and undone, %d changed nothing", c.applied, c.failed, c.same)
	if c.applied*4 < n*3 {
		c.t.Errorf("only %d lists on %d trees could be applied", c.applied, n)
	}
	campaign.Record(c.t, campaign.Campaign{Name: "Fidelity", Variant: c.fs.name, Points: c.applied, Hit: c.applied,
		Lost:   c.wrong,
		Detail: fmt.Sprintf("%d random trees, one or two lists on each; applied, applied again (must write nothing), undone; compared by owner, mode, times, attributes, ACLs, capabilities, flags, links, holes and content (%d lists were refused, or failed without a change)", c.points, c.failed)})
}

// bad tells what is wrong with a tree, with the way to see it again.
func (c *campaignOf) bad(i int, lists []string, what string, d []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong++; c.wrong <= 5 {
		c.t.Errorf("FETTLE_TREE=%s/%d: %s:\n\t%s\nlists:\n%s", c.fs.name, i, what, strings.Join(d, "\n\t"),
			strings.Join(lists, "--\n"))
	}
}

// tree plants tree i in root and tries one or two lists on it.
func (c *campaignOf) tree(i int, root string) {
	dice := rand.New(rand.NewPCG(uint64(i), 20261121))
	must(c.t, os.MkdirAll(root+top, 0o755))
	defer func() { must(c.t, uproot(root)) }()
	g := &planter{Rand: dice, root: root, fs: c.fs, tally: map[string]int{}}
	must(c.t, g.plant(top, 0))
	for _, late := range g.late { // the deepest come first
		must(c.t, late())
	}
	m := open(c.t, root)
	defer m.h.Close()
	origin := c.see(root)
	l := &lister{Rand: dice, things: g.things, busy: map[string]bool{}}
	var lists []string
	for range 1 + dice.IntN(2) {
		lists = append(lists, l.list())
	}
	if c.loud {
		for _, t := range g.things {
			c.t.Logf("%q %s", t.path, origin[t.path[len(top):]].same)
		}
		c.t.Logf("lists:\n%s", strings.Join(lists, "--\n"))
	}
	c.try(i, m, lists, origin, l.busy)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points++
	for k, v := range g.tally {
		c.tally[k] += v
	}
}

func (c *campaignOf) see(root string) tree {
	c.t.Helper()
	s, err := look(root+top, max(c.fs.ahead, 4096))
	must(c.t, err)
	return s
}

// try applies lists one after the other, looks whether the last one again does
// nothing, and goes back.
func (c *campaignOf) try(i int, m *machine, lists []string, origin tree, busy map[string]bool) {
	loose := func(p string) bool { return busy[path.Join(top, p)] }
	ctx := context.Background()
	for _, list := range lists {
		before := c.see(m.root)
		r := request(c.t, list)
		rep, err := m.x.Apply(ctx, r, nil, executor.Options{OnFailure: "undo"}, nil)
		if err != nil {
			c.count(&c.failed)
			if c.loud {
				c.t.Log(err)
			}
			if d := differs(c.see(m.root), before, loose); len(d) > 0 {
				c.bad(i, lists, fmt.Sprintf("it failed (%v) and left", err), d)
				return
			}
			continue
		}
		c.count(&c.applied)
		if rep.Run == 0 {
			c.count(&c.same)
		}
		after := c.see(m.root)
		if rep, err = m.x.Apply(ctx, r, nil, executor.Options{}, nil); err != nil || rep.Run != 0 {
			c.bad(i, lists, fmt.Sprintf("the same list again: run %d, %v", rep.Run, err), did(ctx, m, rep.Run))
		}
		if d := written(c.see(m.root), after); len(d) > 0 {
			c.bad(i, lists, "the same list again wrote", d)
		}
	}
	if _, err := m.x.Rollback(ctx, executor.RollbackRequest{To: 0}, nil, executor.Options{}, nil); err != nil {
		c.bad(i, lists, fmt.Sprintf("rollback: %v", err), nil)
	}
	if d := differs(c.see(m.root), origin, loose); len(d) > 0 {
		c.bad(i, lists, "undone", d)
	}
}

// did lists what a run changed.
func did(ctx context.Context, m *machine, run int) []string {
	shown, err := m.x.Show(ctx, run)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, c := range shown.Plan.Changes {
		out = append(out, fmt.Sprintf("%s %s: %s", c.Action, c.Addr, c.Why))
	}
	return out
}

func (c *campaignOf) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// machine is a root with an engine on it, whose state is in memory.
type machine struct {
	root string
	h    *hostlocal.Host
	x    *local.Executor
}

func open(t testing.TB, root string) *machine {
	t.Helper()
	h, err := hostlocal.Open(root, hostlocal.Options{})
	must(t, err)
	x, err := local.New(h, mem.New(mem.Options{}), local.Options{Now: time.Now, Ballast: -1})
	must(t, err)
	return &machine{root, h, x}
}

// request makes a request of a list whose COPY sources are indexes of contents.
func request(t testing.TB, text string) executor.Request {
	t.Helper()
	blobs := map[string]kind.Blob{}
	for i, content := range contents {
		d := journal.DigestOf([]byte(content))
		blobs[d] = kind.Blob{Digest: d, Size: int64(len(content)), Data: []byte(content)}
		text = strings.ReplaceAll(text, fmt.Sprintf("COPY %d ", i), "COPY "+d+" ")
	}
	l, ds := step.Parse("list", []byte(text))
	if err := ds.Err(); err != nil {
		t.Fatal(errors.Join(err, errors.New(text)))
	}
	return executor.Request{Target: "m", Revision: repo.Revision{Digest: l.Digest()}, List: l, Blobs: blobs, Repair: true}
}
