package bus_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/test/port"
)

// seat is the configuration of one hub of a cluster, as its process reads it.
type seat struct {
	Name, Dir, Listen string
	Routes            []string
	CA, Cert, Key     []byte // PEM
}

// clusterEnv is the file with the seat of the child process that the test kills.
const clusterEnv = "FETTLE_TEST_BUS_SEAT"

func (a *authority) seats(t testing.TB, n int) []seat {
	var addresses []string
	for range n {
		addresses = append(addresses, port.Reserve(t))
	}
	var out []seat
	for i, address := range addresses {
		conf := a.conf("hub", fmt.Sprint("hub", i))
		key, err := x509.MarshalPKCS8PrivateKey(conf.Certificates[0].PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, seat{
			Name: fmt.Sprint("hub", i), Dir: t.TempDir(), Listen: address, Routes: addresses,
			CA:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}),
			Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conf.Certificates[0].Certificate[0]}),
			Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		})
	}
	return out
}

func (s seat) conf() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(s.Cert, s.Key)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ServerName: "localhost"}, err
}

// start starts the hub of a seat.
func (s seat) start() (*bus.Server, error) {
	conf, err := s.conf()
	if err != nil {
		return nil, err
	}
	return bus.Start(context.Background(), bus.Config{
		Dir: s.Dir, Name: s.Name, Listen: "127.0.0.1:0", TLS: conf, Identify: identify,
		Cluster: &bus.Cluster{Name: "fleet", Listen: s.Listen, Routes: s.Routes, TLS: conf, Replicas: 3,
			Identify: func(state *tls.ConnectionState) error {
				_, err := of("hub", state)
				return err
			}},
	})
}

func runSeat(file string) int {
	var s seat
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	srv, err := s.start()
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return write(srv)
}

// process is a hub in its own process, which is killed and restarted.
type process struct {
	seat seat
	a    *acknowledged
	mu   *sync.Mutex // of a

	cmd   *exec.Cmd
	ended chan struct{}
}

func (p *process) begin(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seat")
	b, err := json.Marshal(p.seat)
	if err := errors.Join(err, os.WriteFile(file, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), clusterEnv+"="+file)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	_, err1 := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			p.mu.Lock()
			p.a.heard(t, in.Text())
			p.mu.Unlock()
		}
		_ = p.cmd.Wait()
	}()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.a.logged)
}

// TestCluster: three hubs write, and the leader of the log is killed repeatedly. The other hubs
// continue, and the killed hub returns. No acknowledged write is missing, and followers see all
// records in order.
func TestCluster(t *testing.T) {
	t.Parallel()
	rounds := 1
	if os.Getenv("FETTLE_LONG") != "" {
		rounds = 10
	}
	a := newAuthority(t)
	seats := a.seats(t, 3)
	var hubs []*process
	for _, s := range seats[1:] {
		p := &process{seat: s, a: newAcknowledged(), mu: new(sync.Mutex)}
		p.begin(t)
		defer func() { p.kill() }()
		hubs = append(hubs, p)
	}
	srv, err := seats[0].start()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log, err := srv.Log(ctx, bus.LogConfig{Name: "events"})
	if err != nil {
		t.Fatal(err)
	}
	a.strangers(t, srv)
	f := follow(ctx, log)
	for range rounds {
		victim := leading(t, srv, hubs)
		other := hubs[0]
		if other == victim {
			other = hubs[1]
		}
		victim.kill()
		n := other.count()
		begin := time.Now()
		bustest.Await(t, "the others go on", func() bool { return other.count() > n+20 })
		t.Logf("%s is killed; the others go on after %s", victim.seat.Name, time.Since(begin).Round(time.Millisecond))
		n = victim.count()
		victim.begin(t)
		bustest.Await(t, "it is back", func() bool { return victim.count() > n+20 })
	}
	for _, p := range hubs {
		for _, text := range p.a.snapshot(p.mu) {
			bustest.Await(t, text+" is seen", func() bool { return f.has(text) })
		}
		t.Logf("%s has %d records acknowledged, and all are there", p.seat.Name, p.count())
	}
	cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("following: %v", err)
	}
}

// leading waits until one of the processes leads the log.
func leading(t *testing.T, srv *bus.Server, hubs []*process) (p *process) {
	t.Helper()
	bustest.Await(t, "a process leads", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		name, err := srv.LeaderOf(ctx, "events")
		for _, h := range hubs {
			if err == nil && h.seat.Name == name && h.count() > 0 {
				p = h
			}
		}
		if p == nil {
			_ = srv.StepDown("events") // it may be that another one leads, and that it is slow
			time.Sleep(200 * time.Millisecond)
		}
		return p != nil
	})
	return p
}

// follower has the records that a follower has seen.
type follower struct {
	mu    sync.Mutex
	seen  map[string]bool
	ended chan error
}

// follow follows a log from its beginning.
func follow(ctx context.Context, l fleet.Log) *follower {
	f := &follower{seen: map[string]bool{}, ended: make(chan error, 1)}
	go func() {
		var last uint64
		f.ended <- l.Follow(ctx, 0, func(seq uint64, records [][]byte) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if seq != last+1 {
				return fmt.Errorf("saw %d after %d", seq, last)
			}
			last = seq
			for _, r := range records {
				f.seen[string(r)] = true
			}
			return nil
		})
	}()
	return f
}

func (f *follower) has(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[text]
}

// strangers: a client without the certificate of a hub cannot connect to the port for hubs.
func (a *authority) strangers(t *testing.T, srv *bus.Server) {
	for name, conf := range map[string]*tls.Config{"target": a.conf("target", string(bustest.ID(1))),
		"none": {RootCAs: a.pool, ServerName: "localhost"}} {
		c, err := net.Dial("tcp", srv.ClusterAddress().String())
		if err != nil {
			t.Fatal(err)
		}
		over := tls.Client(c, conf)
		if _, err := over.Write([]byte("CONNECT {}\r\nPING\r\n")); err == nil {
			if n, err := over.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s was let in among the hubs, and heard %d bytes", name, n)
			} else {
				t.Logf("%s among the hubs: %v", name, err)
			}
		}
		_ = c.Close()
	}
}
