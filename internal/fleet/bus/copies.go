package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// mostCopies is the maximum number of hubs that store each bucket or log. With three, one hub can
// fail; more replicas make writes slower.
const mostCopies = 3

// Peer is the state of one hub of a cluster, as this hub sees it.
type Peer struct {
	Name      string
	Reachable bool   // it was reachable recently
	Current   bool   // it has all data of the leader
	Lag       uint64 // number of changes that it lacks
}

// CopySet lists the hubs that store a bucket or log.
type CopySet struct {
	Name    string
	Leader  string
	Desired int    // desired number of copies
	Peers   []Peer // including the leader, sorted by name
}

// complete returns true if all copies exist and are complete.
func (c CopySet) complete() bool {
	return c.Leader != "" && len(c.Peers) == c.Desired &&
		!slices.ContainsFunc(c.Peers, func(p Peer) bool { return !p.Current })
}

// Peers returns the hubs of the cluster, sorted by name, and the leader. Without a leader, leader
// is "" and only connected hubs are returned. A single hub has no peers. Only the leader knows how
// far the other hubs are, so Peers asks it. The leader detects a lost hub late, so a hub without a
// connection to this hub is not Here.
func (s *Server) Peers(ctx context.Context) (all []Peer, leader string) {
	if s.external != nil {
		return s.Exchange().relay.peers(), ""
	}
	js, err := s.nats.Jsz(&server.JSzOptions{})
	if err != nil || js.Meta == nil {
		return nil, ""
	}
	meta := js.Meta
	if meta.Leader != "" && meta.Leader != s.nats.Name() {
		if theirs := s.metaOf(ctx, meta.Leader); theirs != nil {
			meta = theirs
		}
	}
	reached := s.connectedHubs()
	if meta.Leader == "" {
		for _, name := range reached {
			all = append(all, Peer{Name: name, Reachable: true})
		}
	} else {
		here := slices.Contains(reached, meta.Leader)
		all = append(all, Peer{Name: meta.Leader, Reachable: here, Current: here})
	}
	for _, p := range meta.Replicas {
		if p.Name != meta.Leader {
			here := !p.Offline && slices.Contains(reached, p.Name)
			all = append(all, Peer{Name: p.Name, Reachable: here, Current: here && p.Current, Lag: p.Lag})
		}
	}
	slices.SortFunc(all, byName)
	return all, meta.Leader
}

// metaOf returns the cluster information of another hub, or nil if it does not answer.
func (s *Server) metaOf(ctx context.Context, name string) (meta *server.MetaClusterInfo) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.ping(ctx, func(from string, info server.JSInfo) (more bool) {
		if from == name {
			meta = info.Meta
		}
		return from != name
	})
	return meta
}

func byName(a, b Peer) int { return cmp.Compare(a.Name, b.Name) }

// Copies returns the copies of all buckets and logs, sorted by name.
func (s *Server) Copies(ctx context.Context) ([]CopySet, error) {
	ctx, cancel := withAskTime(ctx)
	defer cancel()
	if s.external != nil {
		return s.external.copies(ctx)
	}
	var out []CopySet
	list := s.js.ListStreams(ctx)
	for info := range list.Info() {
		out = append(out, copiesOf(info))
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("cannot list the copies of the buckets and logs: %w", err)
	}
	slices.SortFunc(out, func(a, b CopySet) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func copiesOf(i *jetstream.StreamInfo) CopySet {
	c := CopySet{Name: i.Config.Name, Desired: i.Config.Replicas}
	if i.Cluster == nil {
		return c
	}
	c.Leader = i.Cluster.Leader
	if c.Leader != "" {
		c.Peers = append(c.Peers, Peer{Name: c.Leader, Reachable: true, Current: true})
	}
	for _, p := range i.Cluster.Replicas {
		c.Peers = append(c.Peers, Peer{Name: p.Name, Reachable: !p.Offline, Current: p.Current, Lag: p.Lag})
	}
	slices.SortFunc(c.Peers, byName)
	return c
}

// AdjustCopies brings the cluster one step closer to the desired hubs, and returns true if nothing remains.
// Each bucket and log is stored on three of the named hubs, or on all if there are fewer. Other
// hubs store nothing and do not vote. One hub calls it repeatedly, also after an error.
func (s *Server) AdjustCopies(ctx context.Context, names []string) (done bool, err error) {
	peers, leader := s.Peers(ctx)
	if leader == "" {
		return false, errors.New("cannot change the cluster: it has no leader. Most of its hubs must be reachable")
	}
	want := DesiredCopies(peers, names)
	copies, err := s.Copies(ctx)
	if err != nil {
		return false, err
	}
	// An unreachable hub that must leave is removed first. The server then gives its copies to
	// other hubs, and ends watches of this hub's data, which would delay everything.
	if gone := absent(peers, copies, names); gone != "" {
		return false, api(ctx, s.owned[0], server.JSApiRemoveServer, map[string]string{"peer": gone}, nil)
	}
	done = true
	for _, c := range copies {
		ready, err := s.tend(ctx, c, want, names)
		if err != nil {
			return false, fmt.Errorf("cannot store %s on %d hubs: %w", c.Name, want, err)
		}
		done = done && ready
	}
	if !done {
		return false, nil
	}
	return s.dismiss(ctx, peers, leader, names)
}

// absent returns an unreachable hub that must leave, if another hub leads each bucket and log. It
// returns "" if there is none.
func absent(peers []Peer, copies []CopySet, names []string) string {
	for _, p := range peers {
		if p.Reachable || slices.Contains(names, p.Name) {
			continue
		}
		if !slices.ContainsFunc(copies, func(c CopySet) bool { return c.Leader == "" || c.Leader == p.Name }) {
			return p.Name
		}
	}
	return ""
}

// DesiredCopies returns the number of copies to make: the number of named hubs that are reachable and
// current, at least 1 and at most three.
func DesiredCopies(peers []Peer, names []string) int {
	n := 0
	for _, p := range peers {
		if slices.Contains(names, p.Name) && p.Reachable && p.Current {
			n++
		}
	}
	return min(max(n, 1), mostCopies)
}

// tend executes the next step for one bucket or log. Copies are added only if all existing copies
// are complete, and removed only if the leader stays.
func (s *Server) tend(ctx context.Context, c CopySet, want int, names []string) (done bool, err error) {
	leaves := slices.IndexFunc(c.Peers, func(p Peer) bool { return !slices.Contains(names, p.Name) })
	stays := slices.IndexFunc(c.Peers, func(p Peer) bool { return slices.Contains(names, p.Name) && p.Current })
	// The number of copies is reduced only if a hub leaves the cluster. A hub that is unreachable
	// for a while keeps its copies.
	fewer := c.Desired > want && (leaves >= 0 || c.Desired > min(len(names), mostCopies))
	switch {
	case c.Leader == "":
		return false, nil
	case leaves >= 0 && !slices.Contains(names, c.Leader) && stays >= 0:
		return false, api(ctx, s.owned[2], "$JS.API.STREAM.LEADER.STEPDOWN."+c.Name, preferred(c.Peers[stays].Name), nil)
	case fewer || c.Desired < want && c.complete():
		return false, s.keepOn(ctx, c.Name, want)
	case leaves >= 0 && len(c.Peers) <= c.Desired && slices.Contains(names, c.Leader):
		return false, api(ctx, s.owned[2], "$JS.API.STREAM.PEER.REMOVE."+c.Name,
			map[string]string{"peer": c.Peers[leaves].Name}, nil)
	}
	return c.complete() && leaves < 0, nil
}

func preferred(name string) any {
	return map[string]any{"placement": map[string]string{"preferred": name}}
}

func (s *Server) keepOn(ctx context.Context, name string, copies int) error {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	conf := stream.CachedInfo().Config
	conf.Replicas = copies
	_, err = s.js.UpdateStream(ctx, conf)
	return err
}

// dismiss removes the vote of a hub that no longer stores anything.
func (s *Server) dismiss(ctx context.Context, peers []Peer, leader string, names []string) (done bool, err error) {
	stays := slices.IndexFunc(peers, func(p Peer) bool { return slices.Contains(names, p.Name) && p.Current })
	for _, p := range peers {
		switch {
		case slices.Contains(names, p.Name):
			continue
		case p.Name == leader && stays >= 0:
			return false, api(ctx, s.owned[0], server.JSApiLeaderStepDown, preferred(peers[stays].Name), nil)
		case p.Name != leader:
			return false, api(ctx, s.owned[0], server.JSApiRemoveServer, map[string]string{"peer": p.Name}, nil)
		}
		return false, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(peers, func(p Peer) bool { return p.Name == n && p.Current }) {
			return false, nil
		}
	}
	return true, nil
}

// replicasOf returns the number of copies of an existing stream, or the number for a new stream.
func (s *Server) replicasOf(ctx context.Context, stream string) int {
	if s.config.Cluster == nil {
		return 1
	}
	if had, err := s.js.Stream(ctx, stream); err == nil {
		return had.CachedInfo().Config.Replicas
	}
	return s.config.replicas()
}
