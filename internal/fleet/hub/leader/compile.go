package leader

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// contents packs a commit into bundles and compiles its inventory. If the commit cannot be read,
// Contents.Error contains the reason; the error of contents itself is only that of ctx.
func (conf Config) contents(ctx context.Context, commit string, targets []fleet.Target) (assign.Contents, error) {
	c := assign.Contents{Enrolled: assign.EnrolledDigest(targets),
		Revision: fleet.Revision{Repository: conf.Repository.Repository().Name, Commit: commit}}
	for _, r := range conf.Records.Refs.Values() {
		if r.Revision.Commit == commit {
			c.Revision = r.Revision
		}
	}
	parts, err := conf.Repository.Pack(ctx, c.Revision, conf.Content)
	if err == nil {
		c.Author = conf.Author(ctx, c.Revision)
		err = conf.understand(&c, parts, targets)
	}
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	if err != nil {
		c.Error = err.Error()
	}
	return c, nil
}

// understand compiles the inventory of a commit and fills c with its bundles and targets.
func (conf Config) understand(c *assign.Contents, parts []fleet.Assigned, targets []fleet.Target) error {
	if len(parts) > 0 {
		c.Revision = parts[0].Revision
	}
	c.Bundles, c.Proofs = map[string]fleet.Bundle{}, map[string]fleet.Bundle{}
	for _, p := range parts {
		if p.Proof != nil {
			c.Proofs[p.Module] = *p.Proof
		}
		if p.Module == content.RootBundle {
			c.Root = p.Bundle
		} else {
			c.Bundles[p.Module] = p.Bundle
		}
	}
	whole, end, err := conf.compose(parts, targets)
	if err != nil {
		return err
	}
	defer end()
	all, ds := conf.Compile(whole)
	if err := ds.Err(); err != nil {
		return err
	}
	c.Targets, c.Versions = assign.TargetsOf(all), assign.VersionsOf(all)
	if c.Strategies, ds = conf.Strategies(whole); ds.Err() != nil {
		return ds.Err()
	}
	if c.Waits, ds = conf.Waits(whole); ds.Err() != nil {
		return ds.Err()
	}
	c.Limits = limitsOf(c.Waits.Organizations)
	declared, ds := conf.Scopes(whole)
	if ds.Err() != nil {
		return ds.Err()
	}
	c.Scopes = declared.WithoutInputs()
	if c.Locks, ds = conf.Locks(whole); ds.Err() != nil {
		return ds.Err()
	}
	belong, alike := make(map[string]view.Memberships, len(all)), map[string]view.Memberships{}
	for _, t := range all {
		key := fmt.Sprintf("%q%q", t.Roles, t.Groups)
		b, known := alike[key]
		if !known {
			b = view.Memberships{Roles: t.Roles, Groups: t.Groups}
			alike[key] = b
		}
		b.Environment, b.Element = t.Environment, elementOf(t.Element)
		belong[t.Name] = b
	}
	conf.SetMemberships(belong)
	return nil
}

// elementOf describes the element of for_each that made a target for users, nil for none.
func elementOf(e *query.Element) *document.TargetElement {
	if e == nil {
		return nil
	}
	return &document.TargetElement{Block: e.Block, Key: e.Key, Value: e.Value,
		Source: fmt.Sprintf("%s:%d", e.Range.File, e.Range.Start.Line)}
}

// Tree returns the parts of a commit, and the tree of all of them. The caller must call end when it no longer reads the
// tree. After an error, end was called already. Only a hub that led has the commits.
func (conf Config) Tree(ctx context.Context, rev fleet.Revision) (parts []fleet.Assigned, tree repo.Tree, end func(),
	err error) {
	if parts, err = conf.Repository.Pack(ctx, rev, conf.Content); err != nil {
		return nil, nil, nil, err
	}
	tree, end, err = conf.compose(parts, conf.Records.Targets.Values())
	return parts, tree, end, err
}

// compose returns the tree of all parts with the enrolled targets, as agents build it. The caller
// must call end when it no longer reads the tree. After an error, end was called already.
func (conf Config) compose(parts []fleet.Assigned, targets []fleet.Target) (tree repo.Tree, end func(), err error) {
	var closes []func() error
	end = func() {
		for _, c := range closes {
			_ = c()
		}
	}
	trees := map[string]repo.Tree{}
	for _, p := range parts {
		b, done, err := content.OpenBundle(conf.Content, p.Bundle)
		if err != nil {
			end()
			return nil, nil, err
		}
		closes = append(closes, done)
		trees[p.Module] = b.Tree()
	}
	top := trees[content.RootBundle]
	delete(trees, content.RootBundle)
	if tree, err = content.Compose(top, trees, assign.EnrolledOf(targets)); err != nil {
		end()
	}
	return tree, end, err
}
