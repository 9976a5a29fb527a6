package incremental

import (
	"slices"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/secret"
)

// Revisions makes the catalogs of targets at two revisions of a repository. It evaluates states of
// modules that are the same in both revisions only once. The catalogs equal the result of
// eval.Catalog at each revision. Revisions is not safe for concurrent use.
type Revisions struct {
	sides [2]*Sharing
	pairs map[[2]*model]*pairedRevisions
	same  map[string]bool // by path: whether both trees have the same content
	dirty map[string]bool // directories with a read that differs
	seen  [2]int          // how many reads of each side were compared
	top   bool            // the top levels are the same, except for levels
	// secrets is set if both trees have the same secrets; nil until the first use.
	secrets *bool
}

// maxPairs is the maximum number of cached pairs.
const maxPairs = 1 << 10

// Between starts a comparison. Both programs must have no errors.
func Between(a, b *Sharing) *Revisions {
	old, now := a.prog, b.prog
	r := &Revisions{sides: [2]*Sharing{a, b}, pairs: map[[2]*model]*pairedRevisions{}, same: map[string]bool{},
		dirty: map[string]bool{}, top: true}
	for _, f := range slices.Concat(old.Root.Files, now.Root.Files) {
		r.top = r.top && (old.HasOnlyLevels(f) && now.HasOnlyLevels(f) || r.samePath(f))
	}
	return r
}

// OldCatalog is Sharing.Catalog at the first revision.
func (r *Revisions) OldCatalog(in eval.Input) (Shared, diag.List) { return r.sides[0].Catalog(in) }

// NewCatalog is Sharing.Catalog at the second revision. To compare the target with the first revision,
// pass the last result of OldCatalog for the same input as was, otherwise the zero value.
func (r *Revisions) NewCatalog(in eval.Input, was Shared) (Shared, diag.List) {
	if was.model == nil {
		return r.sides[1].Catalog(in)
	}
	return r.sides[1].catalog(in, func(m *model, t *source.Target, levels []*source.Level, in eval.Input) (Shared, bool) {
		if w := r.twin(m, was); w != nil {
			if out, ok := m.makeBeside(t, levels, in, w); ok {
				return out, true
			}
		}
		return m.make(t, levels, in)
	})
}

// twin returns the parts of a model of the second revision that can be reused. They belong to the
// catalog of the same target at the first revision. The result is nil if there are none.
func (r *Revisions) twin(m *model, was Shared) *twin {
	r.compare()
	if !r.top || r.dirty["."] || !r.sameSecrets() {
		return nil
	}
	key := [2]*model{was.model, m}
	t := r.pairs[key]
	if t == nil || t.dirty != len(r.dirty) {
		if len(r.pairs) >= maxPairs {
			clear(r.pairs)
		}
		t = newPair(r.dirty, was.model, m)
		r.pairs[key] = t
	}
	if len(t.scopes) == 0 {
		return nil
	}
	return &twin{pairedRevisions: t, was: was}
}

// compare compares the reads since the last call.
func (r *Revisions) compare() {
	for i, s := range r.sides {
		for _, x := range s.prog.Record.Order[r.seen[i]:] {
			if !r.dirty[x.Directory] && !r.samePath(x.Path) {
				r.dirty[x.Directory] = true
			}
		}
		r.seen[i] = len(s.prog.Record.Order)
	}
}

func (r *Revisions) samePath(p string) bool {
	same, known := r.same[p]
	if !known {
		same = samePath(r.sides[0].prog.Tree, r.sides[1].prog.Tree, p)
		r.same[p] = same
	}
	return same
}

// sameSecrets reports whether no secret is used, or all are the same.
func (r *Revisions) sameSecrets() bool {
	if !r.sides[0].prog.UsesSecrets() && !r.sides[1].prog.UsesSecrets() {
		return true
	}
	if r.secrets == nil {
		same := r.sameBelow(secret.Directory)
		r.secrets = &same
	}
	return *r.secrets
}

// sameBelow compares a directory with all its content.
func (r *Revisions) sameBelow(p string) bool {
	if !r.samePath(p) {
		return false
	}
	list, err := r.sides[0].prog.Tree.ReadDir(p)
	if err != nil { // it is a file or does not exist
		return true
	}
	for _, e := range list {
		if !r.sameBelow(e.Path) {
			return false
		}
	}
	return true
}
