package lang

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// accountAttrs are the attributes that a kind of the standard library takes from the
// user state of the same name where they are left out: by kind and attribute, the
// attribute of user.
func accountAttrs() map[string]map[string]string {
	return map[string]map[string]string{"authorized_key": {"home": "home", "group": "group"}}
}

// ofAccount returns the value of an omitted attribute from the user state of the account. It
// returns null if no state sets the value. States of the same scope take precedence over states of
// other modules.
func (ev *evaluator) ofAccount(in *instance, m *memo, attr string) (cty.Value, bool) {
	wanted := accountAttrs()[in.st.decl.kind][attr]
	if wanted == "" || !ev.prog.library.has(in.st.decl.kind) {
		return cty.NilVal, false
	}
	account := ev.attr(in, in.st.kind.Main)
	if !account.ok || !account.val.IsKnown() || account.val.IsNull() {
		return cty.NilVal, false
	}
	for _, s := range append([]*scope{in.st.scope}, ev.all...) {
		for _, label := range slices.Sorted(maps.Keys(s.states["user"])) {
			st := s.states["user"][label]
			ev.expand(st)
			for _, user := range st.keys {
				if v, ok := ev.sameAccount(user, account.val, wanted); ok {
					m.refs = append(m.refs, ref{state: st, inst: user, rng: in.st.decl.rng})
					return v, true
				}
			}
		}
	}
	return cty.NilVal, false
}

// sameAccount is an attribute that a user state sets, if it is about the account and
// takes part.
func (ev *evaluator) sameAccount(user *instance, account cty.Value, attr string) (cty.Value, bool) {
	name := ev.attr(user, "name")
	if !name.ok || !name.val.IsKnown() || !name.val.RawEquals(account) {
		return cty.NilVal, false
	}
	if on, _, ok := ev.when(user.st, user.each); !ok || !on {
		return cty.NilVal, false
	}
	m := ev.attr(user, attr)
	if !m.ok || m.val.IsNull() {
		return cty.NilVal, false
	}
	return m.val, true
}
