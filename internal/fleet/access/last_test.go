package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/host/mem"
)

// TestLastRecords: for random logs, the last records of an organization are the same as from a search in all records,
// also after a crash in the middle of a line.
func TestLastRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := mem.NewFS(mem.Options{})
		f := &access.File{FS: disk, Path: "/audit.log"}
		if got, err := f.Last(10, func(access.Record) bool { return true }); err != nil || len(got) > 0 {
			rt.Fatalf("of no file: %v, %v", got, err)
		}
		trail, err := access.OpenTrail(f, "hub1", start)
		if err != nil {
			rt.Fatal(err)
		}
		var want []string
		for i := range rapid.IntRange(1, 60).Draw(rt, "records") {
			e := access.Entry{User: fmt.Sprint(i), Outcome: access.Done,
				Organization: rapid.SampledFrom([]fleet.Organization{"", "acme", "acme/search", "acme2"}).Draw(rt, "user"),
				Of:           rapid.SampledFrom([]fleet.Organization{"", "acme/eu", "globex"}).Draw(rt, "object"),
				Reason:       strings.Repeat("x", rapid.SampledFrom([]int{0, 100, 60000}).Draw(rt, "size"))}
			if err := trail.Append(t.Context(), e); err != nil {
				rt.Fatal(err)
			}
			if strings.HasPrefix(string(e.Organization)+"/", "acme/") || e.Of == "acme/eu" {
				want = append(want, e.User)
			}
		}
		if rapid.Bool().Draw(rt, "crash") {
			file, err := disk.OpenAppend("/audit.log")
			if err == nil {
				_, err = file.Write([]byte(`{"format":"fettle.audit/1","cha`))
			}
			if err != nil {
				rt.Fatal(err)
			}
			_ = file.Close()
		}
		limit := rapid.IntRange(1, 70).Draw(rt, "limit")
		got, err := f.Last(limit, func(r access.Record) bool { return r.Within("acme") })
		var names []string
		for _, r := range got {
			names = append(names, r.User)
		}
		want = want[max(0, len(want)-limit):]
		if err != nil || !slices.Equal(names, want) {
			rt.Errorf("the last %d are %q, %v; want %q", limit, names, err, want)
		}
	})
}

// TestRecordsForAnOrganization: operations of other users on a target show no text that can contain other names, and no
// credential or address.
func TestRecordsForAnOrganization(t *testing.T) {
	full := access.Entry{User: "u", Credential: "token x", Operation: "POST /v1", Object: "web1",
		Outcome: "cannot find globex", Reason: `{"organization":"globex"}`, From: "192.0.2.1", Request: "r1"}
	for what, c := range map[string]struct {
		user, object fleet.Organization
		within, own  bool
	}{"an own user": {"acme", "", true, true}, "a user below": {"acme/search", "globex", true, true},
		"an own target":                    {"", "acme", true, false},
		"a target below, and another user": {"globex", "acme/search", true, false},
		"another organization":             {"acme2", "acme2", false, false}, "the fleet": {"", "", false, false}} {
		e := full
		e.Organization, e.Of = c.user, c.object
		if e.Within("acme") != c.within {
			t.Errorf("%s: within is %v", what, !c.within)
		}
		got := e.For("acme")
		want := access.Entry{User: "u", Operation: "POST /v1", Object: "web1", Outcome: "failed"}
		if c.own {
			want = full
			want.Request = ""
		}
		if got != want {
			t.Errorf("%s: %+v", what, got)
		}
	}
	full.Outcome = access.Denied
	if got := full.For("acme"); got.Outcome != access.Denied {
		t.Errorf("%+v", got)
	}
}
