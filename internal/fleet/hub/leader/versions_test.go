package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// unreadable is a repository without any commit. It notes the commits that are read.
type unreadable struct{ read []string }

func (r *unreadable) Repository() records.Repository { return records.Repository{Name: "site"} }

func (r *unreadable) Follow(context.Context, func()) error { return nil }

func (r *unreadable) Pack(_ context.Context, rev fleet.Revision, _ *content.Store) ([]fleet.Assigned, error) {
	r.read = append(r.read, rev.Commit)
	return nil, errors.New("the server does not answer")
}

// TestVersionsOfPresentContent: each decision reads at most maxRead commits of present content, and each commit once
// for a commit of the branch, also if it cannot be read.
func TestVersionsOfPresentContent(t *testing.T) {
	const module = "modules/web"
	needs := assign.Contents{Versions: map[string]assign.Versioned{module: {
		Requires: []assign.Requirement{{By: module, Module: "modules/db", Version: ">= 1"}}}}}
	in := assign.Input{Branch: "main", Revisions: map[string]assign.Contents{"head1": needs, "head2": needs, "head3": {}},
		Previous: map[fleet.TargetID]fleet.Assignment{}}
	var all []string
	for i := range maxRead + 5 {
		commit := fmt.Sprintf("old%02d", i)
		all = append(all, commit)
		in.Previous[fleet.TargetID(commit)] = fleet.Assignment{Modules: []fleet.Assigned{{Module: module,
			Revision: fleet.Revision{Commit: commit}, Bundle: fleet.Bundle{Digest: commit}}}}
	}
	site := &unreadable{}
	leads := &term{Config: Config{Repository: site, Records: &records.Table{Refs: &records.Mirror[records.Ref]{}}}}
	for _, c := range []struct {
		head string
		want []string
	}{{"head1", all[:maxRead]}, {"head1", all[maxRead:]}, {"head1", nil}, {"head2", all[:maxRead]}, {"head3", nil}} {
		site.read = nil
		in.Refs = map[string]assign.Ref{"main": {Commit: c.head}}
		if err := leads.readVersions(t.Context(), in); err != nil || !slices.Equal(site.read, c.want) {
			t.Errorf("%s: it read %v, want %v, %v", c.head, site.read, c.want, err)
		}
	}
}
