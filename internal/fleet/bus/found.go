package bus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"

	"github.com/nats-io/nats-server/v2/server"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// A cluster has a directory of its own below that of a hub alone, since a server that is one
// of several takes what it finds of a server alone for orphans, and deletes it.
const (
	clusterDir = "cluster"
	aloneDir   = "jetstream"           // of a hub alone, as the server calls it
	wholeFile  = clusterDir + "/whole" // is there when all of a hub alone is in its cluster
	seatDir    = clusterDir + "/jetstream/$SYS/_js_/_meta_"
	seatFile   = "peers.idx"
)

// storeDir is where the server keeps everything.
func (c Config) storeDir() string {
	if c.Cluster == nil || c.Cluster.Files == nil {
		return c.Dir
	}
	return host.JoinPath(c.Dir, clusterDir)
}

// founds tells whether a hub begins a cluster, and brings what it has.
func (c Config) founds() (bool, error) {
	if c.Cluster == nil || c.Cluster.Files == nil || len(c.Cluster.Peers) > 1 {
		return false, nil
	}
	there, err := host.Exists(c.Cluster.Files, host.JoinPath(c.Dir, wholeFile))
	return !there, err
}

// prepare makes the directory of a cluster. A hub that begins one waits for nobody; another
// waits for those whom it knows, so that two who are new never make a cluster of their own.
func (c Config) prepare(founds bool) error {
	if c.Cluster == nil || c.Cluster.Files == nil {
		return nil
	}
	files := c.Cluster.Files
	if founds {
		if err := removeTree(files, host.JoinPath(c.Dir, clusterDir)); err != nil {
			return fmt.Errorf("cannot begin a cluster: %w", err)
		}
	}
	seat := host.JoinPath(host.JoinPath(c.Dir, seatDir), seatFile)
	there, err := host.Exists(files, seat)
	if err != nil || there {
		return err
	}
	if err := smallfile.Directory(files, host.JoinPath(c.Dir, seatDir)); err != nil {
		return err
	}
	return smallfile.Write(files, seat, seatOf(c.Cluster.Peers))
}

// seatOf is the server's own record of who votes: it has no option that says so, and would
// wait for a second one.
func seatOf(names []string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(names)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(names)))
	for _, n := range names {
		b = append(b, peerOf(n)...)
	}
	return binary.LittleEndian.AppendUint16(b, 0)
}

// peerOf is what the server makes of a name among those who vote.
func peerOf(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	b := sum[:8]
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return string(b)
}

// bring copies what a hub alone had into the cluster that it begins, with all numbers as
// they were. It is durable when bring returns, and only then is the old one taken away: a
// crash before begins anew.
func (s *Server) bring(ctx context.Context) error {
	files := s.config.Cluster.Files
	old := host.JoinPath(s.config.Dir, aloneDir)
	there, err := host.Exists(files, old)
	if err != nil {
		return err
	}
	if there {
		if err := s.copyAlone(ctx); err != nil {
			return fmt.Errorf("cannot bring the store of this hub into a cluster: %w", err)
		}
	}
	if err := files.SyncFS(s.config.Dir); err != nil {
		return fmt.Errorf("cannot make the store of the cluster durable: %w", err)
	}
	if err := smallfile.Write(files, host.JoinPath(s.config.Dir, wholeFile), []byte("all that this hub had alone is here\n")); err != nil {
		return err
	}
	return removeTree(files, old)
}

// copyAlone opens the store of a hub alone beside this server.
func (s *Server) copyAlone(ctx context.Context) error {
	alone, err := Start(ctx, Config{Dir: s.config.Dir, Name: s.config.Name + "-alone", DontListen: true, MaxStore: s.config.MaxStore, Warn: s.config.Warn})
	if err != nil {
		return err
	}
	defer alone.Close()
	var names []string
	listed := alone.js.StreamNames(ctx)
	for n := range listed.Name() {
		names = append(names, n)
	}
	if err := listed.Err(); err != nil {
		return err
	}
	for _, n := range names {
		if err := copyStream(ctx, alone, s, n); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// removeTree removes a directory with all that is in it; one that is not there is no error.
func removeTree(files host.FS, dir string) error {
	st, err := files.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Type == image.Directory {
		names, err := files.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := removeTree(files, host.JoinPath(dir, n)); err != nil {
				return err
			}
		}
	}
	return files.Remove(dir)
}

// accompany gives a hub that is a cluster of one the company that the server waits for
// before it counts votes: a server within this process that keeps nothing. It is needed
// until the votes are counted.
func (s *Server) accompany() (end func(), err error) {
	end = func() {}
	if s.config.Cluster == nil || s.config.Cluster.Files == nil || len(s.config.Cluster.Peers) > 1 {
		return end, nil
	}
	_, port, err := net.SplitHostPort(s.nats.ClusterAddr().String())
	if err != nil {
		return end, err
	}
	c := s.config.Cluster
	company, err := server.NewServer(&server.Options{
		ServerName: s.config.Name + "-company", NoLog: true, NoSigs: true, CustomRouterAuthentication: hubsOnly{},
		// A server that does not listen to clients makes no routes.
		Host: "127.0.0.1", Port: server.RANDOM_PORT, CustomClientAuthentication: nobody{},
		Cluster: server.ClusterOpts{Name: c.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoAdvertise: true, TLSTimeout: 10, TLSConfig: strict(c.TLS, c.Identify)},
		Routes:  []*url.URL{{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", port)}},
	})
	if err != nil {
		return end, fmt.Errorf("cannot begin a cluster: %w", err)
	}
	go company.Start()
	return func() {
		company.Shutdown()
		company.WaitForShutdown()
	}, nil
}

// nobody lets nobody in.
type nobody struct{}

// Check implements server.Authentication.
func (nobody) Check(server.ClientAuthentication) bool { return false }
