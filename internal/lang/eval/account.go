package eval

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
func ofAccount(ev *Evaluator, in *Instance, m *Memo, attr string) (cty.Value, bool) {
	wanted := accountAttrs()[in.State.decl.Kind][attr]
	if wanted == "" || !ev.Program.InLibrary(in.State.decl.Kind) {
		return cty.NilVal, false
	}
	account := ev.Attr(in, in.State.kind.Main)
	if !account.OK || !account.Value.IsKnown() || account.Value.IsNull() {
		return cty.NilVal, false
	}
	for _, s := range append([]*Scope{in.State.Scope}, ev.All...) {
		for _, label := range slices.Sorted(maps.Keys(s.states["user"])) {
			st := s.states["user"][label]
			ev.expand(st)
			for _, user := range st.Keys {
				if v, ok := sameAccount(ev, user, account.Value, wanted); ok {
					m.refs = append(m.refs, reference{state: st, instance: user, rng: in.State.decl.Range})
					return v, true
				}
			}
		}
	}
	return cty.NilVal, false
}

// sameAccount is an attribute that a user state sets, if it is about the account and
// takes part.
func sameAccount(ev *Evaluator, user *Instance, account cty.Value, attr string) (cty.Value, bool) {
	name := ev.Attr(user, "name")
	if !name.OK || !name.Value.IsKnown() || !name.Value.RawEquals(account) {
		return cty.NilVal, false
	}
	if on, _, ok := ev.when(user.State, user.Each); !ok || !on {
		return cty.NilVal, false
	}
	m := ev.Attr(user, attr)
	if !m.OK || m.Value.IsNull() {
		return cty.NilVal, false
	}
	return m.Value, true
}
