package explain

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
)

// find returns the addresses that an argument of explain names, in list order.
func (k *known) find(what string) []addr.Addr {
	if m := fileLine().FindStringSubmatch(what); m != nil && !isAddr(what) {
		line, _ := strconv.Atoi(m[2])
		return k.atLine(m[1], line)
	}
	match := func(a addr.Addr) bool { return a.String() == what || a.Path() == what && what != "" }
	if found := k.addrs(match); len(found) > 0 {
		return found
	}
	if found := k.ofState(what); len(found) > 0 {
		return found
	}
	return k.addrs(func(a addr.Addr) bool { return a.Name() == what })
}

func isAddr(s string) bool {
	_, err := addr.Parse(s)
	return err == nil
}

// addrs are the addresses, applied or wanted, that match, each once.
func (k *known) addrs(match func(addr.Addr) bool) []addr.Addr {
	var out []addr.Addr
	seen := map[addr.Addr]bool{}
	add := func(a addr.Addr) {
		if !seen[a] && match(a) {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, e := range k.status.State.Entries {
		add(e.Addr)
	}
	if k.wanted != nil {
		for _, st := range k.wanted.List {
			add(st.Addr())
		}
	}
	return out
}

func (k *known) allStates() []executor.StateRef {
	if k.wanted == nil {
		return k.states
	}
	return append(append([]executor.StateRef{}, k.states...), k.wanted.States...)
}

func (k *known) ofState(id string) []addr.Addr {
	in := map[addr.Addr]bool{}
	for _, st := range k.allStates() {
		if isCalled(st.ID, id) {
			for _, a := range st.Addrs {
				in[a] = true
			}
		}
	}
	return k.addrs(func(a addr.Addr) bool { return in[a] })
}

// atLine returns the steps of a source line: the steps whose source begins there, otherwise the steps
// of the last state that begins above the line.
func (k *known) atLine(file string, line int) []addr.Addr {
	best := k.beginsAt(file, line)
	in := map[addr.Addr]bool{}
	for a, source := range k.sources() {
		for _, src := range source {
			if f, n := splitSource(src); n > 0 && n == best && sameFile(f, file) {
				in[a] = true
			}
		}
	}
	return k.addrs(func(a addr.Addr) bool { return in[a] })
}

// beginsAt is the line at which the last state that begins at a line or above it
// does, 0 for none.
func (k *known) beginsAt(file string, line int) int {
	best := 0
	look := func(src string) {
		if f, n := splitSource(src); n <= line && n > best && sameFile(f, file) {
			best = n
		}
	}
	for _, source := range k.sources() {
		for _, src := range source {
			look(src)
		}
	}
	for _, h := range k.waits {
		look(h.Source)
	}
	return best
}

// sources returns the source places of each address.
func (k *known) sources() map[addr.Addr][]string {
	out := map[addr.Addr][]string{}
	for _, e := range k.status.State.Entries {
		out[e.Addr] = append(out[e.Addr], e.Src)
	}
	if k.wanted != nil {
		for _, st := range k.wanted.List {
			out[st.Addr()] = append(out[st.Addr()], st.Source)
		}
	}
	return out
}

// sameFile compares a path of the repository with a path that the user typed.
func sameFile(known, typed string) bool {
	typed = strings.TrimPrefix(typed, "./")
	return known == typed || strings.HasSuffix(typed, "/"+known)
}

func splitSource(src string) (file string, line int) {
	m := fileLine().FindStringSubmatch(src)
	if m == nil {
		return src, 0
	}
	line, _ = strconv.Atoi(m[2])
	return m[1], line
}

var fileLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^:]+):(\d+)(:\d+)?$`) })

// isCalled tells whether a state is called so, from the top or from within a module.
func isCalled(id, what string) bool {
	return id == what || strings.HasSuffix(id, "."+what) && strings.Contains(what, ".")
}
