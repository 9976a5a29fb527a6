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

// A cluster has a directory of its own. A server in a cluster would regard the streams of a single
// server as orphans, and delete them.
const (
	clusterDir = "cluster"
	aloneDir   = "jetstream"           // of a single hub; the name is the server's
	wholeFile  = clusterDir + "/whole" // exists when all data of a single hub has been copied into its cluster
	seatDir    = clusterDir + "/jetstream/$SYS/_js_/_meta_"
	seatFile   = "peers.idx"
)

// storeDir returns the directory of the server's data.
func (c Config) storeDir() string {
	if c.Cluster == nil || c.Cluster.Files == nil {
		return c.Dir
	}
	return host.JoinPath(c.Dir, clusterDir)
}

// founds returns true if this hub founds a cluster and must copy its data into it.
func (c Config) founds() (bool, error) {
	if c.Cluster == nil || c.Cluster.Files == nil || len(c.Cluster.Peers) > 1 {
		return false, nil
	}
	there, err := host.Exists(c.Cluster.Files, host.JoinPath(c.Dir, wholeFile))
	return !there, err
}

// prepare creates the directory of a cluster. A hub that founds a cluster does not wait. Any other
// hub waits for its known hubs, so that two new hubs never form a cluster of their own.
func (c Config) prepare(founds bool) error {
	if c.Cluster == nil || c.Cluster.Files == nil {
		return nil
	}
	files := c.Cluster.Files
	if founds {
		if err := removeTree(files, host.JoinPath(c.Dir, clusterDir)); err != nil {
			return fmt.Errorf("cannot found a cluster: %w", err)
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

// seatOf encodes the server's own record of the voting peers. The server has no option for it, and
// would wait for a second server.
func seatOf(names []string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(names)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(names)))
	for _, n := range names {
		b = append(b, peerOf(n)...)
	}
	return binary.LittleEndian.AppendUint16(b, 0)
}

// peerOf returns the ID that the server derives from the name of a voting peer.
func peerOf(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	b := sum[:8]
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return string(b)
}

// bring copies the data of a single hub into the cluster that it founds; all revisions stay the
// same. The old data is removed only after the copy is durable. After a crash before that, bring
// starts again.
func (s *Server) bring(ctx context.Context) error {
	files := s.config.Cluster.Files
	old := host.JoinPath(s.config.Dir, aloneDir)
	there, err := host.Exists(files, old)
	if err != nil {
		return err
	}
	if there {
		if err := s.copyAlone(ctx); err != nil {
			return fmt.Errorf("cannot copy the store of this hub into its cluster: %w", err)
		}
	}
	if err := files.SyncFS(s.config.Dir); err != nil {
		return fmt.Errorf("cannot make the store of the cluster durable: %w", err)
	}
	if err := smallfile.Write(files, host.JoinPath(s.config.Dir, wholeFile),
		[]byte("all that this hub had alone is here\n")); err != nil {
		return err
	}
	return removeTree(files, old)
}

// copyAlone starts a second server with the data of the single hub and copies all streams.
func (s *Server) copyAlone(ctx context.Context) error {
	alone, err := Start(ctx, Config{Dir: s.config.Dir, Name: s.config.Name + "-alone", DontListen: true,
		MaxStore: s.config.MaxStore, Warn: s.config.Warn})
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

// removeTree removes a directory and its content. A missing directory is not an error.
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

// accompany starts a second server within this process that stores nothing. The server of a cluster
// of one hub waits for a second server before it counts votes. end stops it; call end after the
// first election.
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
		// A server that does not listen for clients does not connect routes.
		Host: "127.0.0.1", Port: server.RANDOM_PORT, CustomClientAuthentication: refuseAll{},
		Cluster: server.ClusterOpts{Name: c.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoAdvertise: true,
			TLSTimeout: 10, TLSConfig: strict(c.TLS, c.Identify)},
		Routes: []*url.URL{{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", port)}},
	})
	if err != nil {
		return end, fmt.Errorf("cannot found a cluster: %w", err)
	}
	go company.Start()
	return func() {
		company.Shutdown()
		company.WaitForShutdown()
	}, nil
}

// refuseAll implements server.Authentication: it refuses all clients.
type refuseAll struct{}

// Check implements server.Authentication.
func (refuseAll) Check(server.ClientAuthentication) bool { return false }
