package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// limit is the minimum cost of the parts.
type limit struct {
	memory float64       // bytes per connection
	all    time.Duration // until all were connected
}

// seat is the input of a limit process, stored in a file.
type seat struct {
	Kind string // tlsAlone or busAlone
	Dir  string
	Pair pair
}

const (
	tlsAlone = "tls"
	busAlone = "bus"
)

// measureLimit connects n clients to a process without other work: self with other arguments. settle
// is the idle time before its memory is read; the process releases unused memory after a second.
func measureLimit(ctx context.Context, self, base, kind string, n int, settle time.Duration) (l limit, err error) {
	dir, err := os.MkdirTemp(base, "limit-")
	if err != nil {
		return l, err
	}
	a, err := newAuthority()
	if err != nil {
		return l, err
	}
	p, address, err := startLimit(a, self, dir, kind)
	if err != nil {
		return l, err
	}
	defer p.kill()
	before, err := settled(ctx, p, settle)
	if err != nil {
		return l, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pairs, err := a.pairs(n)
	if err != nil {
		return l, err
	}
	connect := connectTLS
	if kind == busAlone {
		connect = connectBus
	}
	began := time.Now()
	if err := connect(ctx, address, pairs); err != nil {
		return l, err
	}
	l.all = time.Since(began)
	after, err := settled(ctx, p, settle)
	l.memory = float64(after-before) / float64(n)
	return l, err
}

func startLimit(a *authority, self, dir, kind string) (*process, string, error) {
	own, err := a.pair("hub")
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(seat{kind, filepath.Join(dir, "bus"), own})
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "seat")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, "", err
	}
	cmd := exec.Command(self, "limit", file)
	cmd.Stderr = os.Stderr
	return startProcess(cmd)
}

// settled returns the memory of a process after an idle time.
func settled(ctx context.Context, p *process, rested time.Duration) (int64, error) {
	if err := pause(ctx, rested); err != nil {
		return 0, err
	}
	return p.memory()
}

// connectTLS connects all clients, a limited number at a time, and keeps them until ctx ends.
func connectTLS(ctx context.Context, address string, pairs []pair) error {
	var all errgroup.Group
	all.SetLimit(64)
	for _, p := range pairs {
		all.Go(func() error {
			conf, err := p.config()
			if err != nil {
				return err
			}
			c, err := tls.Dial("tcp", address, conf)
			if err == nil {
				context.AfterFunc(ctx, func() { _ = c.Close() })
			}
			return err
		})
	}
	return all.Wait()
}

// connectBus is connectTLS with connections of the message bus.
func connectBus(ctx context.Context, address string, pairs []pair) error {
	var up sync.WaitGroup
	up.Add(len(pairs))
	for i, p := range pairs {
		conf, err := p.config()
		if err != nil {
			return err
		}
		l, err := bus.Dial(ctx, bus.LinkConfig{ID: targetID(i), URLs: []string{"tls://" + address},
			TLS: func() (*tls.Config, error) { return conf, nil }})
		if err != nil {
			return err
		}
		l.Changes(func() func(bool) {
			var once sync.Once
			return func(is bool) {
				if is {
					once.Do(up.Done)
				}
			}
		}())
	}
	done := make(chan struct{})
	go func() { up.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serveLimit is the main function of a limit process. It runs until it is killed.
func serveLimit(file string) error {
	var s seat
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return err
	}
	if _, err := manyFiles(); err != nil {
		return err
	}
	conf, err := s.Pair.config()
	if err != nil {
		return err
	}
	conf.ClientAuth = tls.RequireAndVerifyClientCert
	if s.Kind == busAlone {
		return serveBus(s, conf)
	}
	return serveTLS(conf)
}

func serveTLS(conf *tls.Config) error {
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	var open atomic.Int64
	go rest(func() int { return int(open.Load()) })
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go hold(c, &open)
	}
}

// hold keeps a connection open until the client closes it.
func hold(c net.Conn, open *atomic.Int64) {
	defer c.Close()
	if c.(*tls.Conn).Handshake() == nil {
		open.Add(1)
		_, _ = c.Read(make([]byte, 1))
	}
}

func serveBus(s seat, conf *tls.Config) error {
	srv, err := bus.Start(context.Background(), bus.Config{Dir: s.Dir, Listen: "127.0.0.1:0", TLS: conf,
		Identify: func(c *tls.ConnectionState) (fleet.TargetID, error) {
			if len(c.PeerCertificates) == 0 {
				return "", errors.New("no agent is connected")
			}
			return fleet.ParseTargetID(c.PeerCertificates[0].Subject.CommonName)
		}})
	if err != nil {
		return err
	}
	fmt.Println(srv.Address())
	rest(func() int { return len(srv.Exchange().Connected()) })
	return nil
}

// rest releases memory when the number of connections has not changed for a second.
func rest(count func() int) {
	last, given := -1, -1
	for {
		time.Sleep(time.Second)
		n := count()
		if n == last && n != given {
			for range 4 { // stacks shrink by half each time
				debug.FreeOSMemory()
			}
			given = n
		}
		last = n
	}
}
