package members

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/host/mem"
)

// storeOf is a store that lists members.
func storeOf(t *testing.T, names ...string) *bustest.Store {
	t.Helper()
	s := bustest.NewStore()
	for _, name := range names {
		text, err := json.Marshal(records.Member{Name: name, By: "hub1"})
		if err == nil {
			_, err = s.Put(t.Context(), records.MemberPrefix+name, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func listedIn(t *testing.T, s fleet.Store) []string {
	t.Helper()
	names := []string{}
	all, err := s.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Key[len(records.MemberPrefix):])
	}
	slices.Sort(names)
	return names
}

// TestEnlist: the behaviour of a hub at its start depends on the store, even if its mirror is still
// empty.
func TestEnlist(t *testing.T) {
	for name, c := range map[string]struct {
		listed, mirrored, known, want []string
		err                           error
	}{
		"new fleet": {want: []string{"hub2"}},
		"listed": {listed: []string{"hub1", "hub2"}, known: []string{"hub1", "hub2"},
			want: []string{"hub1", "hub2"}},
		"store lost": {known: []string{"hub1", "hub2"}, want: []string{"hub1", "hub2"}},
		"retired": {listed: []string{"hub1"}, known: []string{"hub1", "hub2"},
			want: []string{"hub1"}, err: ErrRetired},
		"retired, only a stranger is left": {listed: []string{"hub3"}, mirrored: []string{"hub3"},
			known: []string{"hub1", "hub2"}, want: []string{"hub3"}, err: ErrRetired},
		"listed, the mirror has others": {listed: []string{"hub1", "hub2"}, mirrored: []string{"hub1"},
			known: []string{"hub1"}, want: []string{"hub1", "hub2"}},
		"alone, and the first of its fleet": {mirrored: nil, known: nil, want: []string{"hub2"}},
	} {
		s := storeOf(t, c.listed...)
		m := records.NewMirror[records.Member](s, records.MemberPrefix, nil)
		for _, name := range c.mirrored {
			m.Take(fleet.Entry{Key: records.MemberPrefix + name, Value: []byte(`{"name":"` + name + `"}`), Rev: 1})
		}
		var known []records.Member
		for _, name := range c.known {
			known = append(known, records.Member{Name: name})
		}
		err := enlist(t.Context(), m, records.Member{Name: "hub2", HubURLs: []string{"https://192.0.2.2:7440"}}, known)
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := listedIn(t, s); !slices.Equal(got, c.want) {
			t.Errorf("%s: the store lists %v, want %v", name, got, c.want)
		}
		if v, rev, _ := m.Get("hub2"); c.err == nil &&
			(rev == 0 || len(v.HubURLs) != 1 || v.By != map[bool]string{true: "hub1"}[slices.Contains(c.listed, "hub2")]) {
			t.Errorf("%s: the entry of this hub is %+v at %d", name, v, rev)
		}
	}
}

// racing is a store in which another hub writes just before a write of this one.
type racing struct {
	*bustest.Store
	first map[string]string
}

func (r *racing) race(ctx context.Context) {
	for _, key := range slices.Sorted(maps.Keys(r.first)) {
		_, _ = r.Store.Put(ctx, key, []byte(r.first[key]))
	}
	r.first = nil
}

func (r *racing) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	r.race(ctx)
	return r.Store.Update(ctx, key, value, rev)
}

func (r *racing) UpdateAll(ctx context.Context, all []fleet.Entry) ([]uint64, error) {
	r.race(ctx)
	return r.Store.UpdateAll(ctx, all)
}

// TestEnlistBesideAnotherHub: after a concurrent write of another hub, the hub reads again and does
// not end.
func TestEnlistBesideAnotherHub(t *testing.T) {
	for name, first := range map[string]map[string]string{
		"it lists this hub and itself": {"member/hub1": `{"name":"hub1"}`,
			"member/hub2": `{"name":"hub2","by":"kim","joined":7}`},
		"it lists this hub": {"member/hub2": `{"name":"hub2","by":"kim","joined":7}`},
	} {
		s := &racing{bustest.NewStore(), first}
		h := New(Config{Identity: Identity{Hub: "hub2", Files: mem.New(mem.Options{}), Dir: "/hub2", Listen: ":7442"},
			Now: time.Now, Warn: func(string) {}, Records: &records.Table{}})
		h.peers = &Cache{Members: []records.Member{{Name: "hub1"}, {Name: "hub2"}}}
		h.Records.Members = records.NewMirror[records.Member](s, records.MemberPrefix, nil)
		if err := h.Register(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v, _, err := storedMember(t.Context(), h.Records.Members, "hub2"); err != nil || v.By != "kim" || v.Joined != 7 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}
