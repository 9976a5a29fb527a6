package child

import (
	"testing"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// Barriers and signals from a child are accepted only if their values are valid.
func TestWaitsAreChecked(t *testing.T) {
	read := func(c query.Coordination) error {
		w := &writer{}
		writeDocument(w, c)
		r := &reader{b: w.b}
		readWaits(r)
		return r.end()
	}
	b, s := query.Barrier{Name: "a", Quorum: "all"}, query.Signal{Name: "a", Keep: 60}
	o := source.Organization{Name: "a/b", Freeze: "why", MaxUnavailable: "5%", Approvals: 1}
	if err := read(query.Coordination{Organizations: []source.Organization{o}, Barriers: []query.Barrier{b},
		Signals: []query.Signal{s}}); err != nil {
		t.Error(err)
	}
	for _, bad := range []query.Coordination{
		{Barriers: []query.Barrier{b, b}}, {Signals: []query.Signal{s, s}},
		{Barriers: []query.Barrier{{Name: "a/b", Quorum: "all"}}}, {Barriers: []query.Barrier{{Name: "a", Quorum: "0"}}},
		{Barriers: []query.Barrier{{Name: "a", Quorum: "all", OfflineAfter: 1}}},
		{Barriers: []query.Barrier{{Name: "a", Quorum: "all", Members: []string{"b", "a"}}}},
		{Signals: []query.Signal{{Name: "a"}}}, {Signals: []query.Signal{{Name: "a", Keep: 60, Senders: []string{"b", "a"}}}},
		{Signals: make([]query.Signal, 101)},
		{Organizations: []source.Organization{{Name: "a"}, {Name: "a"}}},
		{Organizations: []source.Organization{{Name: "a//b"}}},
		{Organizations: []source.Organization{{Name: "a", Approvals: -1}}},
		{Organizations: []source.Organization{{Name: "a", Approvals: 21}}},
		{Organizations: []source.Organization{{Name: "a", MaxUnavailable: "0"}}},
		{Organizations: []source.Organization{{Name: "a", MaxUnavailable: "many"}}},
		{Organizations: []source.Organization{{Name: "a", Freeze: "two\nlines"}}},
	} {
		if read(bad) == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
}
