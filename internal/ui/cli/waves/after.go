package waves

import (
	"fmt"
	"path"
	"slices"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/ui/cli"
)

// afters returns the dependences of a strategy for the selected targets. A percentage counts all targets of the
// repository that have the module. why is the reason for which the command cannot honour a dependence, or "".
func (r Rollout) afters(declared []query.StrategyAfter) (out []push.After, why string, err error) {
	if len(declared) == 0 {
		return nil, "", nil
	}
	all, err := cli.Inventory(r.Targets.Session, r.Targets.Source)
	if err != nil {
		return nil, "", err
	}
	for _, d := range declared {
		a, count := push.After{Module: path.Base(d.Module)}, 0
		for _, t := range all {
			selected := slices.Contains(r.Targets.Names, t.Name)
			if selected && slices.ContainsFunc(d.Modules, func(m string) bool { return slices.Contains(t.Modules, m) }) {
				a.Waiting = append(a.Waiting, t.Name)
			}
			if !slices.Contains(d.Targets, t.Name) || !slices.Contains(t.Modules, d.Module) {
				continue
			}
			if count++; selected {
				a.On = append(a.On, t.Name)
			}
		}
		if len(a.Waiting) > 0 && count == 0 {
			return nil, fmt.Sprintf("%s waits for %s, and no target that the block selects has this module", a.Waiting[0],
				a.Module), nil
		}
		a.Least = least(d.Ready, count)
		out = append(out, a)
	}
	return out, "", nil
}

// least returns the number of targets that must be ready: at least 1.
func least(ready string, count int) int {
	a, err := amount.Parse(ready)
	switch {
	case err != nil:
		return max(1, count) // the language has checked it
	case a.Percent:
		return max(1, (count*a.Number+99)/100)
	}
	return max(1, a.Number)
}
