package assignments

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// alike returns assignments of targets with equal modules. The first module is from a commit.
func alike(t *testing.T, targets, commit int) (out []fleet.Assignment) {
	t.Helper()
	same := large(50)
	for i := range same.Modules {
		same.Modules[i].Proof = nil
		same.Modules[i].Bundle.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte{byte(i)}))
	}
	same.Modules[0].Bundle.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte{byte(commit), 1}))
	for i := range targets {
		random := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		id, err := fleet.NewTargetID(bytes.NewReader(random[:]))
		if err != nil {
			t.Fatal(err)
		}
		a := same
		a.Target, a.Name, a.Generation = id, fmt.Sprintf("web%05d", i), uint64(commit)
		a.Epoch, a.Issued = 1_795_355_153, 1_795_355_153
		a.Labels, a.Fleet = map[string]string{"env": "prod", "role": "web"}, "prod"
		out = append(out, a)
	}
	return out
}

// shareable returns a store of assignments, with a bucket for shared modules.
func shareable(t *testing.T) (*Store, *bustest.Store) {
	s, _ := giving(t)
	lists := bustest.NewStore()
	s.Records.Buckets = map[string]fleet.Store{"lists": lists}
	return s, lists
}

// another returns the store of another hub of the same fleet, with empty caches.
func another(s *Store) *Store {
	c := s.Config
	c.Records = &records.Table{Buckets: s.Records.Buckets}
	o := New(c)
	o.Records.Assignments = records.NewMirror(s.Records.Assignments.Store, "", o.Parse)
	return o
}

// bytesOf reads all assignments with another hub, verifies the envelopes, and returns the stored
// bytes per assignment.
func bytesOf(t *testing.T, s *Store, want []fleet.Assignment) (each int, shared int) {
	t.Helper()
	o := another(s)
	entries, err := s.Records.Assignments.Store.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]fleet.Entry{}
	for _, e := range entries {
		by[e.Key] = e
		each += len(e.Value)
	}
	for _, a := range want {
		g, err := o.Parse(by[string(a.Target)].Value)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, s.SigningKey())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.Envelope(); err != nil || !bytes.Equal(got, sealed) {
			t.Fatalf("%s has another envelope, %v\n%s\nwant\n%s", a.Name, err, got, sealed)
		}
		if g.Common != nil {
			shared++
		}
	}
	return each / len(entries), shared
}

// The shared modules of targets are stored once.
func TestSharedModules(t *testing.T) {
	s, lists := shareable(t)
	all := alike(t, 100, 1)
	if err := s.Write(t.Context(), 1, all); err != nil {
		t.Fatal(err)
	}
	each, shared := bytesOf(t, s, all)
	kept, err := lists.All(t.Context())
	if err != nil || shared != 100 || len(kept) != 1 || each > 280 {
		t.Errorf("%d of 100 share one of %d lists, with %d bytes each, %v", shared, len(kept), each, err)
	}
	t.Logf("%d bytes each, %d in common", each, len(kept[0].Value))

	odd := alike(t, 102, 7)[100:] // written one by one, they are not shared yet
	odd[1].Root.Bundle.Size++
	for _, a := range odd {
		if err := s.Write(t.Context(), 1, []fleet.Assignment{a}); err != nil {
			t.Fatal(err)
		}
	}
	joined := alike(t, 103, 1)[102:] // an existing set is shared
	if err := s.Write(t.Context(), 1, joined); err != nil {
		t.Fatal(err)
	}
	if _, shared := bytesOf(t, s, append(odd, joined...)); shared != 1 {
		t.Errorf("%d of 3 share something", shared)
	}
	other := alike(t, 2, 9) // one batch with different root bundles
	other[1].Root.Bundle.Size++
	other[1].Modules = other[0].Modules
	if err := s.Write(t.Context(), 1, other); err != nil {
		t.Fatal(err)
	}
	if _, shared := bytesOf(t, s, other); shared != 1 {
		t.Errorf("%d of 2 with another top share something", shared)
	}
}

// Unused shared modules are removed at the second pass. Used ones never are.
func TestPruneSharedModules(t *testing.T) {
	s, lists := shareable(t)
	count := func(commit, want int) {
		t.Helper()
		if commit > 0 {
			if err := s.Write(t.Context(), 1, alike(t, 3, commit)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.PruneShared(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, err := lists.All(t.Context()); err != nil || len(all) != want {
			t.Fatalf("after the commit %d there are %d lists, not %d, %v", commit, len(all), want, err)
		}
	}
	count(1, 1)
	count(2, 2)
	count(0, 1)
	count(1, 2) // a removed set is written again
	count(2, 2) // a set that is used again stays
	count(0, 1)
	bytesOf(t, s, alike(t, 3, 2))
	if err := s.Write(t.Context(), 1, alike(t, 3, 3)); err != nil {
		t.Fatal(err)
	}
	s.ForgetShared()
	if err := s.Write(t.Context(), 1, alike(t, 3, 2)); err != nil {
		t.Errorf("what another hub wrote: %v", err)
	}
	bytesOf(t, s, alike(t, 3, 2))
}

// Lost shared modules cause a warning, and are written again. While the bus does not answer, the
// reader waits.
func TestLostSharedModules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lists := shareable(t)
		s.Context = t.Context
		all := alike(t, 3, 1)
		if err := s.Write(t.Context(), 1, all); err != nil {
			t.Fatal(err)
		}
		lists.Break(errors.New("no quorum"))
		go func() {
			time.Sleep(5 * time.Second)
			lists.Break(nil)
		}()
		began := time.Now()
		bytesOf(t, s, all)
		if time.Since(began) < 5*time.Second {
			t.Error("did not wait")
		}
		there, err := lists.All(t.Context())
		if err == nil {
			err = lists.Delete(t.Context(), there[0].Key, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := another(s)
		e, err := s.Records.Assignments.Store.Get(t.Context(), string(all[0].Target))
		if err == nil {
			_, err = o.Parse(e.Value)
		}
		if !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("a list that is lost: %v", err)
		}
		s.Records.Assignments = records.NewMirror(s.Records.Assignments.Store, "", s.Parse)
		s.ForgetShared() // as a new leader does
		if err := s.Write(t.Context(), 2, all); err != nil {
			t.Error(err)
		}
		bytesOf(t, s, all)
	})
}

// A record of an older version is read, and does not change when it is written again.
func TestOldAssignmentRecord(t *testing.T) {
	s, _ := shareable(t)
	a := alike(t, 1, 1)[0]
	signature, err := fleet.SignPayload(a.Marshal(), fleet.AssignmentType, s.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"fence": 3, "payload": json.RawMessage(a.Marshal()),
		"signatures": []fleet.Signature{signature}})
	if err != nil {
		t.Fatal(err)
	}
	for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
		var old bytes.Buffer
		w, err := flate.NewWriter(&old, level)
		if err == nil {
			_, err = w.Write(text)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Records.Assignments.Store.Put(t.Context(), string(a.Target), old.Bytes()); err != nil {
			t.Fatal(err)
		}
		bytesOf(t, s, []fleet.Assignment{a})
		if r, err := s.packer.Unpack(old.Bytes()); err != nil || r.Fence != 3 {
			t.Errorf("level %d: fence %d, %v", level, r.Fence, err)
		}
	}
	if err := s.Write(t.Context(), 3, []fleet.Assignment{a}); err != nil {
		t.Error(err)
	}
	bytesOf(t, s, []fleet.Assignment{a})
}
