package histories

import "fettle.dev/fettle/test/histories/judge"

// settle settles a run that was killed, and compares with what it found, or with its
// list if it was complete.
func (p *player) settle() *verdict {
	c := p.crashed
	if c == nil {
		return nil
	}
	r := p.fettle(0, "recover")
	p.tree, p.crashed = p.look(), nil
	p.saw["recovered"]++
	number, outcome := p.newest()
	p.ended = number
	if outcome == "failed" && number > c.number && r.Run == 0 { // it had ended, and nothing was to be settled
		p.saw["killed after a failure"]++
		list := p.lists[c.list-1]
		p.h.Add(judge.Run{Number: number, Before: c.before, After: p.tree, List: p.h.Reached(list, p.tree), Tried: list,
			Done: judge.Unsure(list)})
		return p.common(list, c.before)
	}
	if outcome != "succeeded" || number <= c.number {
		return first(p.exits(r, 0, 1, 6), wrong("recovery", judge.Undone("recovered", p.lists, c.before, p.tree)))
	}
	p.saw["recovered whole"]++
	list := p.lists[c.list-1]
	var plan []judge.Change // unknown: each change may be a repair
	for _, at := range judge.Differ(c.before, p.tree) {
		plan = append(plan, judge.Change{Action: "repair", Addr: "file:" + at})
	}
	p.h.Add(judge.Run{Number: number, Before: c.before, After: p.tree, List: list, Done: judge.Unsure(list), Plan: plan})
	return first(p.exits(r, 0), p.holds(list), p.common(list, c.before))
}

// complete reports whether the killed run had recorded its end. Nothing recovers such a run.
func (p *player) complete() bool {
	number, outcome := p.newest()
	return number > p.crashed.number && (outcome == "succeeded" || outcome == "failed")
}
