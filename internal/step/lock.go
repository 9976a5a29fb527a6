package step

import "slices"

// WithLocks returns the step with these locks instead of its own. The names must be valid.
func (s Step) WithLocks(names []string) Step {
	if len(names) == 0 && !s.Locked() {
		return s
	}
	s = s.withoutLocks()
	attrs := s.Attrs
	at := len(attrs)
	if at > 0 && attrs[at-1].Key == phase.Name {
		at--
	}
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range slices.Backward(slices.Compact(names)) {
		attrs = slices.Insert(attrs, at, Attr{Key: LockKey, Value: name})
	}
	s.Attrs = attrs
	return s
}
