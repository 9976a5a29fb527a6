package members

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// votingBus is a bus that only has voters.
type votingBus struct {
	*bus.Server
	peers []bus.Peer
}

func (b votingBus) Peers(context.Context) ([]bus.Peer, string) { return b.peers, "hub1" }
func (votingBus) IsRemoved() bool                              { return true }

// A hub with a vote keeps it until it is retired, also if this hub has not read its record yet: the
// store accepts a removed hub again only after five minutes.
func TestNewHubKeepsItsVote(t *testing.T) {
	store := bustest.NewStore()
	b := votingBus{peers: []bus.Peer{{Name: "hub1"}, {Name: "hub2"}, {Name: "hub3"}}}
	h := New(Config{Identity: Identity{Hub: "hub1", Revoked: &pki.Revocations{}}, Now: time.Now,
		Records: &records.Table{}, Bus: func() any { return b }})
	h.peers = &Cache{}
	h.Records.Members, h.Records.Leaving = records.NewMirror[records.Member](store, records.MemberPrefix, nil),
		records.NewMirror[records.Leaving](store, "leaving/", nil)
	h.Records.Members.Take(fleet.Entry{Key: records.MemberPrefix + "hub1", Value: []byte(`{"name":"hub1"}`), Rev: 1})
	h.Records.Leaving.Take(fleet.Entry{Key: "leaving/hub2", Value: []byte(`{"by":"root"}`), Rev: 2})
	if got := staying(t.Context(), h.core); !slices.Equal(got, []string{"hub1", "hub3"}) {
		t.Errorf("%v keep their votes", got)
	}
}

// A retired hub that still runs logs only that it is retired, whatever else fails meanwhile.
func TestRetiredHubIsQuiet(t *testing.T) {
	var said []string
	files := mem.New(mem.Options{})
	if err := files.Mkdir("/hub2", 0o700); err != nil {
		t.Fatal(err)
	}
	h := New(Config{Identity: Identity{Files: files, Dir: "/hub2"}, Now: time.Now,
		Warn: func(text string) { said = append(said, text) }, Bus: func() any { return votingBus{} }})
	h.Log("before")
	close(h.dismissed)
	h.Log("cannot fetch content of an assignment")
	if err := h.Leave(t.Context()); !errors.Is(err, ErrRetired) {
		t.Error(err)
	}
	h.Log("another hub cannot be reached")
	if want := []string{"before",
		"this hub was retired: it stops when the other hubs have all data"}; !slices.Equal(said, want) {
		t.Errorf("it logs %q", said)
	}
}
