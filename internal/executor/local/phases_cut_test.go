package local_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

var errDead = errors.New("the process is dead")

// mortal is a site whose process dies before its n-th operation, on the machine or
// on the state, and does nothing from then on.
type mortal struct {
	*site
	left int
	dead bool
}

func newMortal(t *testing.T, n int) *mortal {
	s := &mortal{site: &site{t: t, fails: map[string]bool{}, serial: "one", version: "1", stdout: true,
		now: time.Unix(1000, 0)}, left: -1}
	count := func(string, string) error {
		if s.left == 0 {
			s.dead = true
		}
		s.left--
		if s.dead {
			return errDead
		}
		return nil
	}
	s.h = mem.New(mem.Options{Run: s.command, Count: count})
	s.state = mem.New(mem.Options{Count: count})
	x, err := local.New(s.h, s.state, local.Options{Now: func() time.Time { return s.now }})
	s.must(err)
	s.x = asked(s.t, x)
	s.prepare()
	s.must(s.h.SyncFS("/"))
	s.left = n
	return s
}

// command has a dead process run nothing. What a command does is not ours.
func (s *mortal) command(ctx context.Context, h *mem.Host, c host.Command) (host.CommandResult, error) {
	if s.dead {
		return host.CommandResult{}, errDead
	}
	left := s.left
	s.left = -1
	defer func() { s.left = left }()
	return s.run(ctx, h, c)
}

// The power goes before each operation of an apply with two phases. It is settled,
// goes on, comes to its last phase with its server told of it, and goes back.
func TestPhasesCutShort(t *testing.T) {
	stride := 1
	if lawRounds < 10 {
		stride = 5
	}
	points := 0
	for n := 0; ; n += stride {
		s := newMortal(t, n)
		_, err := s.apply(executor.Options{OnCrash: []string{"undo", "finish"}[n/stride%2]})
		if !s.dead {
			s.must(err)
			break
		}
		points++
		s.dead, s.left = false, -1
		dice := rand.New(rand.NewPCG(7, uint64(n)))
		s.h, s.state = s.h.Crash(dice), s.state.(*mem.Host).Crash(dice)
		s.open()
		_, err = s.x.Recover(context.Background(), executor.Options{}, nil)
		s.must(err)
		before := len(s.trace)
		_, err = s.x.Apply(context.Background(), s.request(executor.Known{}), nil, executor.Options{}, nil)
		s.must(err)
		if got := s.read("/etc/site"); got != "tls1:one\n" {
			t.Fatalf("cut at %d: the site is %q; done %q", n, got, s.trace)
		}
		if last := s.trace[len(s.trace)-1]; last != "reload with tls1:one\n" {
			t.Fatalf("cut at %d: the server was told last: %q; before the cut %q, then %q", n, last, s.trace[:before],
				s.trace[before:])
		}
		for _, did := range s.trace {
			if strings.HasPrefix(did, "gen") && did != "gen with plain1\n" && did != "gen with tls1:one\n" {
				t.Fatalf("cut at %d: %q", n, s.trace)
			}
		}
		s.trace = nil
		_, err = s.x.Apply(context.Background(), s.request(executor.Known{}), nil, executor.Options{}, nil)
		s.must(err)
		s.did()
		_, err = s.x.Rollback(context.Background(), executor.RollbackRequest{CrossIrreversible: true}, nil,
			executor.Options{}, nil)
		s.must(err)
		if got := s.read("/etc/site"); got != "plain0\n" {
			t.Fatalf("cut at %d: after the rollback the site is %q", n, got)
		}
	}
	t.Logf("%d points", points)
	if points < 20 {
		t.Errorf("only %d points", points)
	}
}
