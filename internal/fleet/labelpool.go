package fleet

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"
)

// LabelPool makes one of labels that are the same: most targets have what many others have, and
// a map of their own would be the largest part of what is kept of each. The zero value is
// ready; it may be used from any goroutine.
type LabelPool struct {
	mu  sync.Mutex
	all map[string]map[string]string
}

// maxAlike bounds how many are remembered; with more all are forgotten, which costs memory
// and nothing else.
const maxAlike = 10000

// Labels gives labels that are the same as some, which nobody may change from then on.
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

// Word gives the same text, which lies in memory once for all who ask for it like that.
func Word[T ~string](s T) T { return unique.Make(s).Value() }
