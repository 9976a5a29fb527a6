package step

import "strings"

// shape is a Schema made ready for the parser and the printer.
type shape struct {
	verb     Verb
	names    []string // the subjects, without dots
	types    []Type   // of each subject
	variadic bool     // the last subject can be repeated
	least    int      // number of required subjects
	keys     []Key
}

// shapes is Schemas by verb. It is made once and never changes.
var shapes = makeShapes()

func makeShapes() map[string]*shape {
	m := map[string]*shape{}
	for _, s := range Schemas() {
		m[string(s.Verb)] = newShape(s)
	}
	return m
}

func newShape(s Schema) *shape {
	sh := &shape{verb: s.Verb, keys: s.Keys, least: len(s.Args)}
	for _, a := range s.Args {
		name, dots := strings.CutSuffix(a, "...")
		sh.names = append(sh.names, name)
		sh.types = append(sh.types, subjectType(s.Verb, name))
		sh.variadic = sh.variadic || dots
	}
	// The words of ACT are the words of its action, and only run has any.
	if s.Verb == Act {
		sh.least--
	}
	return sh
}

// subjectType returns the required form of the subject with that name.
func subjectType(v Verb, name string) Type {
	switch {
	case name == "PATH":
		return AbsPath
	case name == "SOURCE":
		return blobSource
	case v == User || v == Group || v == Member:
		return accountName
	case v == Pkg:
		return packageName
	case v == Unit:
		return UnitName
	case v == Sysctl:
		return sysctlKey
	case name == "ACTION":
		return action
	case name == "ARGV":
		return Text
	}
	return label
}

// index is the place of a key in the schema's order, -1 for a key it has not.
func (sh *shape) index(key string) int {
	for i := range sh.keys {
		if sh.keys[i].Name == key {
			return i
		}
	}
	return -1
}

// subjectTypeAt returns the type of the i-th subject; a command can have any number of words.
func (sh *shape) subjectTypeAt(i int) Type {
	return sh.types[min(i, len(sh.types)-1)]
}

// usage returns the line that a user would type, without the optional keys.
func (sh *shape) usage() string {
	words := append([]string{string(sh.verb)}, sh.names...)
	if sh.variadic {
		words[len(words)-1] += "…"
	}
	return strings.Join(words, " ")
}

func verbNames() []string {
	var out []string
	for _, s := range Schemas() {
		out = append(out, string(s.Verb))
	}
	return out
}

func (sh *shape) keyNames() []string {
	var out []string
	for _, k := range sh.keys {
		out = append(out, k.Name)
	}
	return out
}
