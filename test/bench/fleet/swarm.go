package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// perShare is the maximum number of agents in one process. Each needs open files, and the garbage
// collector scans the memory of the whole process.
const perShare = 5000

// allMemory is the memory limit of all agents in bytes, so that a host with 24 GiB also has enough for
// the hub. perAgent is the limit of one agent, including garbage.
const (
	allMemory = 16 << 30
	perAgent  = 1600 << 10
)

// swarm is all agents, in processes of their own.
type swarm struct {
	n      int
	shares []*child
}

// child is a process with some of the agents.
type child struct {
	cmd      *exec.Cmd
	ask      *rpc.Client
	first, n int
}

// newSwarm starts the processes of so many agents: self with other arguments. open is how
// many of them may fetch at the same time.
func newSwarm(self string, n, open int) (*swarm, error) {
	s := &swarm{n: n}
	count := (n + perShare - 1) / perShare
	for i := range count {
		first, last := i*n/count, (i+1)*n/count
		p, err := startChild(self, first, last-first)
		if err != nil {
			s.close()
			return nil, err
		}
		s.shares = append(s.shares, p)
		if err := p.call(context.Background(), "Open",
			Bounds{max(1, open/count), min(allMemory/count, (last-first)*perAgent)}, nil); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// startChild starts a share. It reads calls from its standard input, and writes results to its
// standard output.
func startChild(self string, first, n int) (*child, error) {
	cmd := exec.Command(self, "share")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GODEBUG=madvdontneed=0") // released pages stay mapped until the kernel needs memory
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", self, err)
	}
	return &child{cmd, rpc.NewClient(pipes{out, in}), first, n}, nil
}

// pipes are the two directions to another process.
type pipes struct {
	io.ReadCloser
	to io.WriteCloser
}

// Write implements io.Writer.
func (p pipes) Write(b []byte) (int, error) { return p.to.Write(b) }

// Close implements io.Closer.
func (p pipes) Close() error { return errors.Join(p.to.Close(), p.ReadCloser.Close()) }

// call asks the process for something; reply may be nil.
func (p *child) call(ctx context.Context, what string, args, reply any) error {
	if reply == nil {
		reply = new(bool)
	}
	call := p.ask.Go("Share."+what, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends all agents at once.
func (s *swarm) close() {
	for _, p := range s.shares {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = p.ask.Close()
	}
}

// each asks all processes for the same.
func (s *swarm) each(ctx context.Context, what string, args any) error {
	return s.all(func(p *child) error { return p.call(ctx, what, args, nil) })
}

func (s *swarm) all(do func(*child) error) error {
	var all errgroup.Group
	for _, p := range s.shares {
		all.Go(func() error { return do(p) })
	}
	return all.Wait()
}

// enrolling is how many hosts enrol at the same time, and perToken how many share one.
const (
	enrolling = 16
	perToken  = 100
)

// enrol lets all in by the hub's HTTPS.
func (s *swarm) enrol(ctx context.Context, h *hub) error {
	return s.all(func(p *child) error {
		e := Enrolling{Hub: h.url, First: p.first, N: p.n, AtOnce: max(1, enrolling/len(s.shares))}
		for got := 0; got < p.n; got += perToken {
			token, err := h.token(ctx, min(perToken, p.n-got))
			if err != nil {
				return err
			}
			e.Tokens = append(e.Tokens, token)
		}
		return p.call(ctx, "Enrol", e, nil)
	})
}

// start lets all agents work until the swarm is closed.
func (s *swarm) start(ctx context.Context) error { return s.each(ctx, "Start", time.Now()) }

// begin forgets when who connected.
func (s *swarm) begin(ctx context.Context) error { return s.each(ctx, "Watch", time.Now()) }

// want begins a round.
func (s *swarm) want(ctx context.Context, commit string, changes []string, modules int) error {
	return s.each(ctx, "Want", Wanted{commit, changes, modules, time.Now()})
}

// count adds up what the processes count.
func (s *swarm) count(ctx context.Context) (sum Counts, err error) {
	for _, p := range s.shares {
		var c Counts
		if err := p.call(ctx, "Count", true, &c); err != nil {
			return sum, err
		}
		sum = Counts{sum.Done + c.Done, sum.Up + c.Up, sum.Tries + c.Tries, sum.Refused + c.Refused,
			sum.Unfetched + c.Unfetched}
	}
	return sum, nil
}

// await waits until what is counted is so.
func (s *swarm) await(ctx context.Context, what string, is func(Counts) bool) (c Counts, err error) {
	wrong := await(ctx, what, func() bool {
		c, err = s.count(ctx)
		return err != nil || is(c)
	})
	if err := errors.Join(wrong, err); err != nil {
		return c, fmt.Errorf("%w; of %d agents %d are up and %d in sync", err, s.n, c.Up, c.Done)
	}
	return c, nil
}

// converged waits until all are in sync, and tells when each was, sorted.
func (s *swarm) converged(ctx context.Context) ([]time.Duration, error) {
	if _, err := s.await(ctx, "all agents to be as the commit says",
		func(c Counts) bool { return c.Done == s.n }); err != nil {
		return nil, err
	}
	m, err := s.moments(ctx)
	return m.Done, err
}

// moments are when agents were in sync and when they connected, sorted.
func (s *swarm) moments(ctx context.Context) (all Moments, err error) {
	for _, p := range s.shares {
		var m Moments
		if err := p.call(ctx, "Moments", true, &m); err != nil {
			return all, err
		}
		all = Moments{append(all.Done, m.Done...), append(all.Up, m.Up...), append(all.Twice, m.Twice...)}
	}
	slices.Sort(all.Done)
	slices.Sort(all.Up)
	return all, nil
}
