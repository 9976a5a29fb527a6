package environments

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Follower creates and ends environments of rules while its hub leads.
type Follower struct {
	Service
	Warn func(text string)
	// Branches asks the repository for the branches that begin with a prefix.
	Branches func(ctx context.Context, prefix string) ([]string, error)
	// Choose returns the active targets of a selection.
	Choose func(ctx context.Context, words []string) ([]fleet.TargetID, error)
	// Repository returns the repository that the fleet follows.
	Repository func() records.Repository
	wake       chan struct{}
}

// NewFollower returns a follower. It polls soon after a change of the rules, so it must be called before the mirrors
// are followed.
func NewFollower(f Follower) *Follower {
	f.wake = make(chan struct{}, 1)
	f.Records.EnvironmentRules.Changed = func(string, records.EnvironmentRule, uint64, bool) { f.Poke() }
	return &f
}

// Poke causes a poll soon, if this hub leads.
func (f *Follower) Poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run polls until ctx ends: as often as the repository is polled, and after Poke.
func (f *Follower) Run(ctx context.Context) error {
	for {
		if err := f.follow(ctx); err != nil && ctx.Err() == nil {
			f.Warn("cannot follow branches for environments: " + err.Error())
		}
		every := f.Repository().Poll
		if every <= 0 {
			every = time.Minute
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.wake:
		case <-time.After(every):
		}
	}
}

// follow polls once. An error of a rule is stored for users.
func (f *Follower) follow(ctx context.Context) error {
	rules, revs := f.Records.EnvironmentRules.Values(), map[string]uint64{}
	p := polled{now: f.Now().Unix(), rules: rules,
		branches: map[string][]string{}, errs: map[string]error{}, pool: map[string][]fleet.TargetID{},
		poolErrs: map[string]error{}, active: map[fleet.TargetID]bool{}, declared: map[string]bool{},
		branch: f.Repository().Branch}
	f.Records.Environments.Each(func(name string, e assign.Environment, rev uint64) {
		p.environments, revs[name] = append(p.environments, e), rev
	})
	pinned := map[fleet.TargetID]bool{}
	for _, t := range f.Records.Targets.Values() {
		p.active[t.ID] = t.Standing == fleet.Active
		pinned[t.ID] = t.Pin != nil && (t.Pin.Until == 0 || p.now < t.Pin.Until)
	}
	declared := f.declared()
	for name := range declared {
		p.declared[name] = true
	}
	for _, r := range rules {
		p.branches[r.Name], p.errs[r.Name] = f.Branches(ctx, r.Prefix())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.pool[r.Name], p.poolErrs[r.Name] = f.poolOf(ctx, r, declared[r.Parent], pinned)
	}
	return f.store(ctx, rules, revs, decide(p))
}

// poolOf returns the targets that a rule can use, sorted by name.
func (f *Follower) poolOf(ctx context.Context, r records.EnvironmentRule, members map[string]bool,
	pinned map[fleet.TargetID]bool) ([]fleet.TargetID, error) {
	if members == nil {
		return nil, fmt.Errorf("the repository declares no environment %.70q", r.Parent)
	}
	all, err := f.Choose(ctx, r.Select)
	if err != nil {
		return nil, err
	}
	name := map[fleet.TargetID]string{}
	var out []fleet.TargetID
	for _, id := range all {
		t, _, _ := f.Records.Targets.Get(string(id))
		if name[id] = t.Name; members[t.Name] && !pinned[id] {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b fleet.TargetID) int { return strings.Compare(name[a], name[b]) })
	return out, nil
}

// store writes the changes of environments at these revisions. If another hub or a user changed an environment at the
// same time, the next poll decides again.
func (f *Follower) store(ctx context.Context, rules []records.EnvironmentRule, revs map[string]uint64,
	changes followed) error {
	var errs []error
	wrong := func(err error) bool {
		if err != nil && !errors.Is(err, fleet.ErrConflict) {
			errs = append(errs, err)
		}
		return err != nil
	}
	for _, name := range changes.remove {
		if !slices.ContainsFunc(changes.put, func(e assign.Environment) bool { return e.Name == name }) {
			wrong(f.Records.Environments.RemoveAt(ctx, name, revs[name]))
		}
	}
	for _, e := range changes.put {
		if !wrong(f.Records.Environments.Put(ctx, e.Name, e, revs[e.Name])) {
			f.note(ctx, access.Principal{Name: e.By}, e, changes.notes[e.Name], "")
		}
	}
	for _, r := range rules {
		was, rev, polled := f.Records.FollowedBranches.Get(r.Name)
		if is := changes.results[r.Name]; !polled || !reflect.DeepEqual(was, is) {
			wrong(f.Records.FollowedBranches.Put(ctx, r.Name, is, rev))
		}
	}
	return errors.Join(errs...)
}
