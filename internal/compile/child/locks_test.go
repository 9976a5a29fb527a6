package child

import (
	"testing"

	"fettle.dev/fettle/internal/lang/source"
)

// Locks from a child are accepted only if their values are valid.
func TestLocksAreChecked(t *testing.T) {
	good := source.Lock{Name: "a", Slots: 1, Lease: 60, OnExpiry: "keep"}
	change := func(f func(*source.Lock)) []source.Lock {
		bad := good
		f(&bad)
		return []source.Lock{bad}
	}
	var many []source.Lock
	for i := range source.MaxLocks + 1 {
		one := good
		one.Name = "x" + string(rune('A'+i%26)) + string(rune('A'+i/26))
		many = append(many, one)
	}
	read := func(list []source.Lock) error {
		w := &writer{}
		writeDocument(w, list)
		r := &reader{b: w.b}
		readLocks(r)
		return r.end()
	}
	if err := read([]source.Lock{good}); err != nil {
		t.Error(err)
	}
	for name, list := range map[string][]source.Lock{
		"a name":        change(func(l *source.Lock) { l.Name = "a/b" }),
		"slots":         change(func(l *source.Lock) { l.Slots = 0 }),
		"a lease":       change(func(l *source.Lock) { l.Lease = 1 }),
		"an effect":     change(func(l *source.Lock) { l.OnExpiry = "" }),
		"the same name": {good, good},
		"many":          many,
	} {
		if read(list) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
