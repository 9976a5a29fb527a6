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

// mostCopies is how many hubs keep each thing: more cost more, and one may be lost of
// three.
const mostCopies = 3

// Peer is one hub of a cluster, as this one sees it.
type Peer struct {
	Name    string
	Here    bool   // it was heard of just now
	Current bool   // it has all that the others have
	Lag     uint64 // how many changes it has not
}

// Copies is where a bucket or a log is kept.
type Copies struct {
	Name   string
	Leader string
	Want   int    // how many there are to be
	On     []Peer // the leader's own among them, sorted by name
}

// good tells whether all copies are there and whole.
func (c Copies) good() bool {
	return c.Leader != "" && len(c.On) == c.Want && !slices.ContainsFunc(c.On, func(p Peer) bool { return !p.Current })
}

// Peers are the hubs of the cluster, sorted by name, and who leads it, "" while nobody does:
// then only those to which there is a connection. A hub alone has none. Only who leads knows
// how far the others are: it is asked. It notices late who is gone, so whom this hub has no
// connection to is not here.
func (s *Server) Peers(ctx context.Context) (all []Peer, leader string) {
	if s.abroad != nil {
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
			all = append(all, Peer{Name: name, Here: true})
		}
	} else {
		here := slices.Contains(reached, meta.Leader)
		all = append(all, Peer{Name: meta.Leader, Here: here, Current: here})
	}
	for _, p := range meta.Replicas {
		if p.Name != meta.Leader {
			here := !p.Offline && slices.Contains(reached, p.Name)
			all = append(all, Peer{Name: p.Name, Here: here, Current: here && p.Current, Lag: p.Lag})
		}
	}
	slices.SortFunc(all, byName)
	return all, meta.Leader
}

// metaOf asks another hub what it knows, nil where it does not say.
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

// Copies are all buckets and logs with who keeps them, sorted by name.
func (s *Server) Copies(ctx context.Context) ([]Copies, error) {
	ctx, cancel := withAskTime(ctx)
	defer cancel()
	if s.abroad != nil {
		return s.abroad.copies(ctx)
	}
	var out []Copies
	list := s.js.ListStreams(ctx)
	for info := range list.Info() {
		out = append(out, copiesOf(info))
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("cannot tell where things are kept: %w", err)
	}
	slices.SortFunc(out, func(a, b Copies) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func copiesOf(i *jetstream.StreamInfo) Copies {
	c := Copies{Name: i.Config.Name, Want: i.Config.Replicas}
	if i.Cluster == nil {
		return c
	}
	c.Leader = i.Cluster.Leader
	if c.Leader != "" {
		c.On = append(c.On, Peer{Name: c.Leader, Here: true, Current: true})
	}
	for _, p := range i.Cluster.Replicas {
		c.On = append(c.On, Peer{Name: p.Name, Here: !p.Offline, Current: p.Current, Lag: p.Lag})
	}
	slices.SortFunc(c.On, byName)
	return c
}

// Tend brings the cluster one step nearer to the hubs that it is to have, and tells
// whether it is there: each thing is kept on three of them, or on all where there are
// fewer, and those who are not named keep nothing and have no vote. One hub calls it, again and
// again; an error is worth another call.
func (s *Server) Tend(ctx context.Context, names []string) (done bool, err error) {
	peers, leader := s.Peers(ctx)
	if leader == "" {
		return false, errors.New("cannot tend the cluster: nobody leads it; most of its hubs have to be there")
	}
	want := Wanted(peers, names)
	copies, err := s.Copies(ctx)
	if err != nil {
		return false, err
	}
	// Who is not there and is to go is taken out first: the server then gives what it kept to
	// others, and watches that it served end, which would hold up everything else.
	if gone := absent(peers, copies, names); gone != "" {
		return false, api(ctx, s.owned[0], server.JSApiRemoveServer, map[string]string{"peer": gone}, nil)
	}
	done = true
	for _, c := range copies {
		ready, err := s.tend(ctx, c, want, names)
		if err != nil {
			return false, fmt.Errorf("cannot keep %s on %d hubs: %w", c.Name, want, err)
		}
		done = done && ready
	}
	if !done {
		return false, nil
	}
	return s.dismiss(ctx, peers, leader, names)
}

// absent is a hub that goes and is not there, if everything has somebody else who leads it.
func absent(peers []Peer, copies []Copies, names []string) string {
	for _, p := range peers {
		if p.Here || slices.Contains(names, p.Name) {
			continue
		}
		if !slices.ContainsFunc(copies, func(c Copies) bool { return c.Leader == "" || c.Leader == p.Name }) {
			return p.Name
		}
	}
	return ""
}

// Wanted is how many copies there are to be: as many as there are hubs that are here and
// have everything, up to three.
func Wanted(peers []Peer, names []string) int {
	n := 0
	for _, p := range peers {
		if slices.Contains(names, p.Name) && p.Here && p.Current {
			n++
		}
	}
	return min(max(n, 1), mostCopies)
}

// tend does the next thing for one bucket or log. More copies are made of what is whole
// only, and fewer only of what has a leader that stays.
func (s *Server) tend(ctx context.Context, c Copies, want int, names []string) (done bool, err error) {
	leaves := slices.IndexFunc(c.On, func(p Peer) bool { return !slices.Contains(names, p.Name) })
	stays := slices.IndexFunc(c.On, func(p Peer) bool { return slices.Contains(names, p.Name) && p.Current })
	// Fewer copies than there were are right only when somebody leaves: who is away for a
	// while comes back to what he has.
	fewer := c.Want > want && (leaves >= 0 || c.Want > min(len(names), mostCopies))
	switch {
	case c.Leader == "":
		return false, nil
	case leaves >= 0 && !slices.Contains(names, c.Leader) && stays >= 0:
		return false, api(ctx, s.owned[2], "$JS.API.STREAM.LEADER.STEPDOWN."+c.Name, preferred(c.On[stays].Name), nil)
	case fewer || c.Want < want && c.good():
		return false, s.keepOn(ctx, c.Name, want)
	case leaves >= 0 && len(c.On) <= c.Want && slices.Contains(names, c.Leader):
		return false, api(ctx, s.owned[2], "$JS.API.STREAM.PEER.REMOVE."+c.Name, map[string]string{"peer": c.On[leaves].Name}, nil)
	}
	return c.good() && leaves < 0, nil
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

// dismiss takes the vote of one who keeps nothing any more.
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

// replicasOf is how many copies there are of what is there, or are to be of what is new.
func (s *Server) replicasOf(ctx context.Context, stream string) int {
	if s.config.Cluster == nil {
		return 1
	}
	if had, err := s.js.Stream(ctx, stream); err == nil {
		return had.CachedInfo().Config.Replicas
	}
	return s.config.replicas()
}
