package plan

import "fmt"

// exposed refuses the steps whose path leads through a link in a directory that this plan gives to another
// user than root. That user could replace the link, so the next run would refuse the path.
func (m *refusals) exposed() {
	given := m.given()
	if len(given) == 0 || m.in.LinksAbove == nil || m.in.Goal != nil {
		return
	}
	for _, s := range m.in.Desired {
		for link, dir := range m.in.LinksAbove(s.Path()) {
			uid, ok := given[dir]
			if !ok {
				continue
			}
			m.refuse(s, "", fmt.Errorf("cannot use %q: this run gives the directory %q to the user %s, who could then replace "+
				"the symbolic link %q; keep root as its owner, or use the path to which the link leads",
				s.Path(), dir, m.in.Rules.UserName(uid), link))
			break
		}
	}
}

// given returns the directories that this plan gives to another user than root, with the user.
func (m *refusals) given() map[string]uint32 {
	out := map[string]uint32{}
	for _, c := range m.p.Changes {
		if !c.Action.Mutates() || c.From == nil || c.To == nil || !isDirectory(c.From.File()) || !isDirectory(c.To.File()) {
			continue
		}
		if to := c.To.File().UID; to != 0 && to != c.From.File().UID {
			out[c.Addr.Path()] = to
		}
	}
	return out
}
