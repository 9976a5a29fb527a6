package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/verb"
)

// displaced are the packages that apt removes because they conflict with an installation.
// It is an error if the list contains such a package. A plan cannot always detect this,
// because an earlier step may have changed apt's offers. An undo is not refused: it
// restores the earlier state.
func displaced(ctx context.Context, e verb.Env, p host.Packages, changes []host.PackageChange,
	moves []*verb.GroupMove) ([]string, error) {
	comes := func(m *verb.GroupMove) bool {
		return m.To.Package().Version != "" && m.To.Package().Version != m.From.Package().Version
	}
	if !slices.ContainsFunc(moves, comes) {
		return nil, nil
	}
	o, err := p.Outlook(ctx, changes, nil)
	if err != nil { // the change itself says more
		return nil, ctx.Err()
	}
	for _, name := range o.Removes {
		if claimed(e)[name] && !slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return m.Undo }) {
			return nil, fmt.Errorf("apt would remove %s, which is also in the list, because it conflicts with a new package; remove one of the two from the list", name)
		}
	}
	return o.Removes, nil
}

func noteDisplaced(e verb.Env, gone []string) {
	if len(gone) > 0 {
		e.Note("apt removed " + strings.Join(gone, ", ") + ", because of a conflict with a new package")
	}
}
