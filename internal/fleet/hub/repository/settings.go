package repository

import (
	"context"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// sourceKey is the key of the only repository of a fleet.
const sourceKey = "main"

// Repository returns the repository that the fleet follows. Its URL is "" if there is none.
func (f *Follower) Repository() records.Repository {
	r, _, _ := f.Records.Repositories.Get(sourceKey)
	// The files of keys belong to each hub: their paths can differ between hubs.
	if own := f.Own; own.Key != "" || own.Known != "" {
		r.Key, r.Known = own.Key, own.Known
	}
	return r
}

// HandleRoutes registers the handler of the repositories.
func (f *Follower) HandleRoutes(t *api.Table) { api.HandleGet(t, route.Repositories(), f.Repositories) }

// Repositories returns the repository that the fleet follows, or an empty list.
func (f *Follower) Repositories(context.Context) (document.RepositoryPage, error) {
	page := document.RepositoryPage{Format: document.RepositoryPageFormat, Repositories: []document.Repository{}}
	r := f.Repository()
	if r.URL == "" {
		return page, nil
	}
	d := document.Repository{Name: r.Name, URL: r.URL, Branch: r.Branch}
	if ref, _, ok := f.Records.Refs.Get(records.RefKey(r.Branch)); ok {
		d.Commit, d.Subject, d.Read, d.Error = ref.Revision.Commit, ref.Revision.Subject, ref.Read, ref.Error
	}
	page.Repositories = append(page.Repositories, d)
	return page, nil
}

// Begin stores the repository in the settings of this hub, if the fleet follows none.
func (f *Follower) Begin(ctx context.Context) error {
	if _, _, there := f.Records.Repositories.Get(sourceKey); there || f.Own.URL == "" {
		return nil
	}
	// Only if no other hub was faster: the mirror may not have the latest writes.
	if err := f.Records.Repositories.Put(ctx, sourceKey, f.Own, 0); !errors.Is(err, fleet.ErrConflict) {
		return err
	}
	return nil
}

// pinnedRefs returns the refs in pins of active targets, the branches of environments, and the commits of rollbacks,
// sorted and without duplicates.
func (f *Follower) pinnedRefs() []string {
	var refs []string
	for _, t := range f.Records.Targets.Values() {
		if t.Pin != nil && t.Standing == fleet.Active {
			refs = append(refs, t.Pin.Ref)
		}
	}
	for _, e := range f.Records.Environments.Values() {
		if e.InForce(f.Now().Unix()) {
			refs = append(refs, e.Branch)
		}
	}
	for _, r := range f.Records.Replacements.Values() {
		refs = append(refs, r.Held, r.Commit)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}
