package child

import (
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/schema"
)

// Serve runs the child: it answers questions about one repository until its input ends, which is
// not an error. at, unless nil, receives each place before it is read or evaluated, so that the
// parent can report where a child died.
func Serve(r io.Reader, w io.Writer, at func(diag.Range)) error {
	t := &remoteTree{conn: conn{r, w}, asks: kindRequest, at: at}
	kind, payload, err := t.conn.receive()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case kind != kindTree:
		return nonsense("a message of kind %q instead of the tree", kind)
	}
	if t.known, err = readIndex(payload); err != nil {
		return err
	}
	for {
		if err := t.question(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// question answers one question; io.EOF means that there is none left.
func (t *remoteTree) question() error {
	kind, payload, err := t.conn.receive()
	if err != nil {
		return err
	}
	if kind == kindOther {
		return t.other(payload)
	}
	if kind != kindQuestion {
		return nonsense("a message of kind %q instead of a question", kind)
	}
	q, err := readQuestion(payload)
	if err != nil {
		return err
	}
	if t.repository == nil {
		t.repository = compile.Open(t)
	}
	var w *writer
	of := t.repository
	if q.ask == askDiff || q.ask == askNames && q.name == beforeName {
		if err := t.openBefore(); err != nil {
			return err
		}
		of = t.before.repository
	}
	switch q.ask {
	case askFleet:
		w = t.fleet(q)
	case askDiff:
		w = t.diff(q)
	default:
		w = result(of, q)
	}
	if t.broken != nil {
		return whole(t.broken)
	}
	if t.before != nil && t.before.broken != nil {
		return whole(t.before.broken)
	}
	if len(w.b) > MaxMessage {
		w = &writer{}
		w.diags(diag.List{diag.Errorf(diag.Range{}, "Result too large",
			"The step list and contents of the target need %s, and the limit is %d MiB. Use source for large files.", size(len(w.b)), MaxMessage>>20)})
	}
	return t.conn.send(kindResult, w.b)
}

func size(n int) string { return fmt.Sprintf("%d MiB", n>>20) }

// result writes the diagnostics, and the rest of the answer if none of them is an error.
func result(r *compile.Repository, q question) *writer {
	w := &writer{}
	switch q.ask {
	case askCompile:
		res, ds := r.Compile(q.in)
		w.diags(ds)
		if !ds.HasErrors() {
			writeResult(w, res)
		}
	case askTargets:
		w.targets(r.Targets())
	case askEmptyGroups:
		w.targets(r.EmptyGroups())
	case askNames:
		names, ds := r.Names()
		w.diags(ds)
		w.texts(names)
	case askTests:
		ids, ds := r.Tests()
		w.diags(ds)
		w.texts(ids)
	case askTest:
		v := r.RunTest(q.name)
		w.diags(v.Failures)
		w.rng(v.Range)
		w.text(v.Golden)
		w.text(v.List)
	case askKinds:
		list, ds := r.OwnKinds()
		w.diags(ds)
		writeKinds(w, list)
	case askLookups:
		list, ds := r.Lookups()
		w.diags(ds)
		writeLookups(w, list)
	case askGenerators:
		list, ds := r.Generators(q.in)
		w.diags(ds)
		writeRuns(w, list)
	case askAction:
		writeCall(w, r, q)
	case askRunnable:
		all, ds := r.Runnable()
		w.diags(ds)
		w.document(all)
	case askCommand:
		parts, ds := r.CallCommand(q.name, paramsOf(q.names))
		w.diags(ds)
		w.document(parts)
	case askVariables:
		list, ds := r.Explain(q.in, q.name)
		w.diags(ds)
		writeVariables(w, list)
	case askSchema:
		text, ds := r.Schema(schema.Part(q.name))
		w.diags(ds)
		w.text(string(text))
	}
	return w
}
