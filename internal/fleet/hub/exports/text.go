package exports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
)

// exportText lists the names of changed outputs. It omits the values, since they may be long.
func exportText(was, now []exported.Own) string {
	before, names := map[exported.Own]bool{}, map[string]bool{}
	for _, o := range was {
		before[o] = true
	}
	for _, o := range now {
		if !before[o] {
			names[o.Output+" of "+o.Module] = true
		}
		delete(before, o)
	}
	for o := range before {
		names[o.Output+" of "+o.Module] = true
	}
	list := slices.Sorted(maps.Keys(names))
	if more := len(list) - 5; more > 0 {
		list = append(list[:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
