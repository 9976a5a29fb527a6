package child

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/compile"
)

// The questions about several targets or revisions. The other questions have the numbers of forms.
const (
	askFleet = iota
	askDiff
	askNames
)

// question is one message 'Q'.
type question struct {
	ask   uint64
	in    compile.Input // without its tree
	name  string        // such as the ID of a test
	names []string      // of targets
	has   []byte        // askDiff: at which revisions each of them is declared
}

func (q question) encode() ([]byte, error) {
	w := &writer{}
	w.num(q.ask)
	w.text(q.name)
	w.texts(q.names)
	w.text(string(q.has))
	w.text(q.in.Target)
	w.bool(q.in.ReportedFacts)
	w.int(len(q.in.Facts))
	for _, name := range slices.Sorted(maps.Keys(q.in.Facts)) {
		typ, val, err := encodeValue(q.in.Facts[name])
		if err != nil {
			return nil, fmt.Errorf("cannot send the fact %q to the compiler: %w", name, err)
		}
		w.text(name)
		w.text(string(typ))
		w.text(string(val))
	}
	w.int(len(q.in.Vars))
	for _, name := range slices.Sorted(maps.Keys(q.in.Vars)) {
		w.text(name)
		w.text(q.in.Vars[name])
	}
	w.int(len(q.in.Outputs))
	for _, a := range slices.Sorted(maps.Keys(q.in.Outputs)) {
		w.text(string(a))
		w.text(q.in.Outputs[a])
	}
	return w.b, nil
}

func encodeValue(v cty.Value) (typ, val []byte, err error) {
	if v == cty.NilVal || !v.IsWhollyKnown() || v.ContainsMarked() {
		return nil, nil, fmt.Errorf("its value is not known")
	}
	if typ, err = ctyjson.MarshalType(v.Type()); err != nil {
		return nil, nil, err
	}
	val, err = ctyjson.Marshal(v, v.Type())
	return typ, val, err
}

func readQuestion(payload []byte) (question, error) {
	r := &reader{b: payload}
	q := question{ask: r.num(), name: r.text(), names: r.texts(), has: r.bytes()}
	q.in = compile.Input{Target: r.text(), ReportedFacts: r.bool(), Facts: map[string]cty.Value{},
		Vars: map[string]string{}}
	for range r.count(3) {
		name := r.text()
		typ, err := ctyjson.UnmarshalType(r.bytes())
		if err != nil {
			return q, nonsense("the type of the fact %q", name)
		}
		if q.in.Facts[name], err = ctyjson.Unmarshal(r.bytes(), typ); err != nil {
			return q, nonsense("the value of the fact %q", name)
		}
	}
	for range r.count(2) {
		name := r.text()
		q.in.Vars[name] = r.text()
	}
	for range r.count(2) {
		if q.in.Outputs == nil {
			q.in.Outputs = map[addr.Addr]string{}
		}
		a := addr.Addr(r.text())
		q.in.Outputs[a] = r.text()
	}
	if q.ask == askDiff && len(q.has) != len(q.names) {
		r.fail("the question %d", q.ask)
	}
	return q, r.end()
}
