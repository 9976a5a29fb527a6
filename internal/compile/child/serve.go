package child

import (
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/stream"
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
	all := forms()
	if q.ask >= firstForm+uint64(len(all)) {
		return nonsense("the question %d", q.ask)
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
	case askNames:
		w = namesOf(of)
	default:
		w = all[q.ask-firstForm].serve(of, q)
	}
	if t.broken != nil {
		return stream.Unexpected(t.broken)
	}
	if t.before != nil && t.before.broken != nil {
		return stream.Unexpected(t.before.broken)
	}
	if len(w.b) > MaxMessage {
		w = &writer{}
		w.diags(diag.List{diag.Errorf(diag.Range{}, "Result too large",
			"The step list and contents of the target need %s, and the limit is %d MiB. Use source for large files.",
			size(len(w.b)), MaxMessage>>20)})
	}
	return t.conn.send(kindResult, w.b)
}

func size(n int) string { return fmt.Sprintf("%d MiB", n>>20) }
