package fleet

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"
)

// LabelPool shares equal maps of labels. Many targets have the same labels, and a separate map
// would be most of a target's memory. The zero value is ready to use, also from several goroutines.
type LabelPool struct {
	mu  sync.Mutex
	all map[string]map[string]string
}

// maxAlike is the maximum number of shared maps. Above it all are forgotten, which only costs
// memory.
const maxAlike = 10000

// Labels returns a shared map that is equal to labels. From then on, neither map may be modified.
func (a *LabelPool) Labels(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(k + "\x00" + labels[k] + "\x00")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if had, ok := a.all[b.String()]; ok && maps.Equal(had, labels) {
		return had
	}
	if a.all == nil || len(a.all) >= maxAlike {
		a.all = map[string]map[string]string{}
	}
	a.all[b.String()] = labels
	return labels
}

// Intern returns an equal string that is shared in memory by all callers.
func Intern[T ~string](s T) T { return unique.Make(s).Value() }
