package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/rpc"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// Wanted is the expected state of a round.
type Wanted struct {
	Commit  string
	Changes []string // names of the modules that have this commit
	Modules int
	Begun   time.Time
}

// Enrolling is the task to enrol agents, starting with First, a number of agents for each token.
type Enrolling struct {
	Hub              string
	Tokens           []string
	First, N, AtOnce int
}

// Counts are numbers of agents: in sync in this round, and connected now. Tries are failed attempts to
// connect: the hub ended Refused of these attempts. Other attempts found no hub, or exceeded their time
// limit.
// Unfetched are failed attempts to fetch content.
type Counts struct{ Done, Up, Tries, Refused, Unfetched int }

// Moments are when agents were in sync, from the beginning of the round, and when they
// connected, from the beginning of the watch. Twice says which assignments had a number that
// another one had before.
type Moments struct {
	Done, Up []time.Duration
	Twice    []string
}

// round is a Wanted with its number.
type round struct {
	Wanted
	number int64
}

// Share is a part of the agents, in this process. The parent process calls its exported methods.
type Share struct {
	nodes   []*node
	wanted  atomic.Pointer[round]
	failed  atomic.Int64  // fetches
	slots   chan struct{} // for fetches
	up      atomic.Int64  // connected now
	tries   atomic.Int64  // attempts to connect that failed
	refused atomic.Int64  // of these, attempts that the hub ended
	seed    maphash.Seed  // of digests of assignments

	mu    sync.Mutex
	seen  Moments
	watch time.Time
}

// serveShare is the main function of a share. It ends when its standard input is closed.
func serveShare(in io.ReadCloser, out io.WriteCloser) error {
	if _, err := manyFiles(); err != nil {
		return err
	}
	srv := rpc.NewServer()
	if err := srv.RegisterName("Share", &Share{seed: maphash.MakeSeed()}); err != nil {
		return err
	}
	srv.ServeConn(pipes{in, out})
	return nil
}

// isShare reports whether the arguments select the main function of a share.
func isShare(args []string) bool { return len(args) == 1 && args[0] == "share" }

// Bounds are the limits of a share: the number of agents that fetch at the same time, with one
// additional connection each, and bytes of memory.
type Bounds struct{ Fetching, Memory int }

// Open says what it may use. Memory to free is looked for more seldom than one agent would:
// to look through that of thousands for the sake of one takes processor time that no agent
// takes from its hub.
func (s *Share) Open(b Bounds, _ *bool) error {
	s.slots = make(chan struct{}, b.Fetching)
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(int64(b.Memory))
	reserve(b.Memory)
	return nil
}

// reserve takes memory from the kernel which the heap has from here later, since the process
// is started to keep what it has. Pages that are new to a process, and on a virtual machine new to that,
// took a third of both processors while agents worked.
func reserve(bytes int) {
	room := make([]byte, bytes)
	for i := 0; i < len(room); i += os.Getpagesize() {
		room[i] = 1
	}
}

// Enrol lets them in by the hub's HTTPS.
func (s *Share) Enrol(e Enrolling, _ *bool) error {
	s.nodes = make([]*node, e.N)
	var all errgroup.Group
	all.SetLimit(e.AtOnce)
	for i, text := range e.Tokens {
		all.Go(func() error {
			token, err := pki.ParseToken(text)
			for k := i * perToken; k < min(e.N, (i+1)*perToken) && err == nil; k++ {
				s.nodes[k], err = s.enrol(e.Hub, token, fmt.Sprintf("web%05d", e.First+k))
			}
			return err
		})
	}
	return all.Wait()
}

func (s *Share) enrol(hub string, token pki.Token, name string) (*node, error) {
	n := &node{share: s, disk: mem.NewFS(mem.Options{}), numbers: map[number]uint64{}}
	if err := n.disk.Mkdir(directory, 0o700); err != nil {
		return nil, err
	}
	c := pki.Client{Directory: pki.Directory{FS: n.disk, Dir: member.IdentityDir(directory)}, Now: time.Now}
	if _, err := c.Enrol(context.Background(), hub, token, name); err != nil {
		return nil, err
	}
	return n, n.open()
}

// Start lets all agents work until the process ends.
func (s *Share) Start(now time.Time, done *bool) error {
	if err := s.Watch(now, done); err != nil {
		return err
	}
	for _, n := range s.nodes {
		if err := n.start(context.Background()); err != nil {
			return err
		}
		go func() {
			if err := n.agent.Run(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, "an agent ended:", err)
			}
		}()
	}
	return nil
}

// Watch forgets when who connected.
func (s *Share) Watch(now time.Time, _ *bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Up, s.watch = nil, now
	s.tries.Store(0)
	s.refused.Store(0)
	return nil
}

// Want begins a round.
func (s *Share) Want(w Wanted, _ *bool) error {
	s.mu.Lock()
	s.seen.Done = nil
	s.mu.Unlock()
	next := &round{w, 1}
	if old := s.wanted.Load(); old != nil {
		next.number = old.number + 1
	}
	s.wanted.Store(next)
	return nil
}

// Count counts.
func (s *Share) Count(_ bool, c *Counts) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*c = Counts{len(s.seen.Done), int(s.up.Load()), int(s.tries.Load()), int(s.refused.Load()), int(s.failed.Load())}
	return nil
}

// Moments tells when what happened.
func (s *Share) Moments(_ bool, m *Moments) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*m = s.seen
	return nil
}

func (s *Share) done(r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted.Load() == r {
		s.seen.Done = append(s.seen.Done, time.Since(r.Begun))
	}
}

// twice hears of a number that was given to two assignments.
func (s *Share) twice(a fleet.Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Twice = append(s.seen.Twice, fmt.Sprintf("%s: generation %d of epoch %d", a.Name, a.Generation, a.Epoch))
}

// connected updates the number of connected agents and the times of their connections.
func (s *Share) connected(up bool) {
	if !up {
		s.up.Add(-1)
		return
	}
	s.up.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Up = append(s.seen.Up, time.Since(s.watch))
}

// warned counts the failed attempts to connect among the messages of members.
func (s *Share) warned(text string) {
	if !strings.HasPrefix(text, "cannot connect") {
		return
	}
	s.tries.Add(1)
	if endedByHub(text) {
		s.refused.Add(1)
	}
}

// endedByHub reports whether a running hub ended the failed attempt.
func endedByHub(text string) bool {
	return !slices.ContainsFunc([]string{
		syscall.ECONNREFUSED.Error(),                                       // the hub was not running
		"timeout", context.DeadlineExceeded.Error(), net.ErrClosed.Error(), // the time limit of the agent
	}, func(why string) bool { return strings.Contains(text, why) })
}

// fetch gets what is missing from the hub.
func (s *Share) fetch(ctx context.Context, m *member.Member, part fleet.Assignment) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	err := m.Fetch(ctx, part)
	if err != nil {
		s.failed.Add(1)
	}
	return err
}
