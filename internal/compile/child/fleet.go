package child

import (
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// withLists is the name of a question about a fleet that requests lists, not only their digests.
const withLists = "lists"

// Fleet is compile.Fleet.List for many targets; the input's target is ignored. A target with an
// error has no member. The child's digests are not checked: they are only for comparison, and
// nothing is applied because of them. Lists have no places of their steps.
func (c *Client) Fleet(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List, error) {
	q := question{ask: askFleet, in: in, names: targets}
	if lists {
		q.name = withLists
	}
	r, err := c.ask(q)
	if err != nil {
		return nil, nil, err
	}
	ds := r.diags()
	x := fleetReader{reader: r, lists: lists}
	var out []compile.Member
	for range r.count(3) {
		out = append(out, x.member())
	}
	return out, ds, r.end()
}

// fleet answers a question about many targets.
func (t *remoteTree) fleet(q question) *writer {
	if t.shared == nil {
		t.shared = t.repository.Fleet()
	}
	var ds diag.List
	said := map[string]bool{}
	x := fleetWriter{lines: map[string]int{}}
	count := 0
	for _, name := range q.names {
		q.in.Target = name
		list, more := t.shared.List(q.in)
		for _, d := range more { // all targets with a module repeat its errors
			if key := d.Range.String() + d.String(); !said[key] {
				said[key] = true
				ds = append(ds, d)
			}
		}
		if !more.HasErrors() {
			count++
			x.member(name, list, q.name == withLists)
		}
	}
	w := &writer{}
	w.diags(ds)
	w.int(count)
	w.b = append(w.b, x.b...)
	return w
}

// fleetWriter writes similar lists: a repeated line is written as its number.
type fleetWriter struct {
	writer
	lines map[string]int
}

func (w *fleetWriter) member(target string, list step.List, whole bool) {
	w.text(target)
	w.int(len(list))
	if !whole {
		w.text(list.Digest())
		return
	}
	for _, s := range list {
		w.line(s)
	}
}

func (w *fleetWriter) line(s step.Step) {
	line := s.String()
	n, known := w.lines[line]
	if !known {
		n = len(w.lines)
		w.lines[line] = n
	}
	w.int(n)
	if !known {
		w.text(line)
	}
}

type fleetReader struct {
	*reader
	lists bool
	lines step.List
}

func (r *fleetReader) member() compile.Member {
	m := compile.Member{Target: r.text(), Steps: r.int()}
	if !r.lists {
		m.Digest = r.text()
		return m
	}
	for range m.Steps {
		s := r.known()
		if r.err != nil {
			return m
		}
		m.List = append(m.List, s)
	}
	return m
}

// known reads the number of a known line, or a complete new line.
func (r *fleetReader) known() step.Step {
	n := r.int()
	if n == len(r.lines) && r.err == nil {
		r.lines = append(r.lines, r.line())
	}
	if r.err != nil || n >= len(r.lines) {
		r.fail("line %d of %d", n, len(r.lines))
		return step.Step{}
	}
	return r.lines[n]
}

// line reads one step in its canonical form.
func (r *fleetReader) line() step.Step {
	text := r.text()
	if r.err != nil || strings.ContainsRune(text, '\n') {
		r.fail("a step of several lines")
		return step.Step{}
	}
	list, ds := step.Parse("list", []byte(text+"\n"))
	if ds.HasErrors() || len(list) != 1 || list[0].Verb == step.Include || list[0].String() != text {
		r.fail("a line that is not a step")
		return step.Step{}
	}
	s := list[0]
	s.Written, s.Range = "", diag.Range{}
	return s.Kept()
}
