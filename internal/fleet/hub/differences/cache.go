package differences

// mostKept is the number of results of each kind that are kept.
const mostKept = 8

// kept has the newest values, by key. The zero value is ready for use.
type kept[T any] struct {
	keys   []string // the oldest first
	values map[string]T
}

func (k *kept[T]) get(key string) (T, bool) {
	v, ok := k.values[key]
	return v, ok
}

func (k *kept[T]) put(key string, v T) {
	if k.values == nil {
		k.values = map[string]T{}
	}
	if _, known := k.values[key]; !known {
		k.keys = append(k.keys, key)
	}
	if k.values[key] = v; len(k.keys) > mostKept {
		delete(k.values, k.keys[0])
		k.keys = k.keys[1:]
	}
}
