package secret

// Mark is on every value of the language that depends on a secret. It contains the key to seal
// results; the placeholder's Mark has the zero Key.
type Mark struct{ Key Key }

// KeyOf is the key under which a value with these marks is sealed; ok is false
// when none of them is a Mark. One placeholder makes all of it one.
func KeyOf(marks map[any]struct{}) (k Key, ok bool) {
	for m := range marks {
		mark, is := m.(Mark)
		if !is {
			continue
		}
		if mark.Key == (Key{}) {
			return Key{}, true
		}
		k, ok = mark.Key, true
	}
	return k, ok
}
