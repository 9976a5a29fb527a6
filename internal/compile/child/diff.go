package child

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// The revisions that declare a target.
const (
	hasBefore = 1 << iota
	hasNow
)

// Before sends the child an earlier revision of its repository, once; v is nil if all its secrets
// are placeholders.
func (c *Client) Before(tree repo.Tree, v Vault) error {
	if c.before.tree == tree {
		return nil
	}
	c.before = side{tree, &secrets{vault: v}}
	return c.conn.send(kindOther, index(tree))
}

// Names returns the names of compile.Repository.Names, of the client's revision or, if before is
// set, of the revision passed to Before.
func (c *Client) Names(before bool) ([]string, diag.List, error) {
	q := question{ask: askNames}
	if before {
		q.name = beforeName
	}
	r, err := c.ask(q)
	if err != nil {
		return nil, nil, err
	}
	ds, names := r.diags(), r.texts()
	return names, ds, r.end()
}

func namesOf(r *compile.Repository) *writer {
	w := &writer{}
	names, ds := r.Names()
	w.diags(ds)
	w.texts(names)
	return w
}

// beforeName is the name of a question about the revision before.
const beforeName = "before"

// Diff is compile.Revisions.Diff for many targets, from the revision passed to Before to the
// client's revision. It returns one difference for each target, in their order, unless a diagnostic
// is an error. The child's steps are not checked: they are only for display, and are never applied.
func (c *Client) Diff(in compile.Input, targets []compile.Compared) ([]compile.Difference, diag.List, error) {
	q := question{ask: askDiff, in: in}
	for _, t := range targets {
		flags := byte(0)
		if t.Has[0] {
			flags |= hasBefore
		}
		if t.Has[1] {
			flags |= hasNow
		}
		q.names, q.has = append(q.names, t.Target), append(q.has, flags)
	}
	r, err := c.ask(q)
	if err != nil {
		return nil, nil, err
	}
	ds := r.diags()
	if r.err != nil || ds.HasErrors() {
		return nil, ds, r.end()
	}
	x := fleetReader{reader: r, lists: true}
	out := make([]compile.Difference, len(targets))
	for i, t := range targets {
		out[i] = compile.Difference{Target: t.Target, Changes: x.changes()}
	}
	return out, ds, r.end()
}

// other reads the names of the previous revision.
func (t *remoteTree) other(payload []byte) (err error) {
	t.before, t.revisions = &remoteTree{conn: t.conn, asks: kindRequestBefore, at: t.at}, nil
	t.before.known, err = readIndex(payload)
	return err
}

// openBefore opens the previous revision.
func (t *remoteTree) openBefore() error {
	switch {
	case t.before == nil:
		return nonsense("a question about an unknown revision")
	case t.before.repository == nil:
		t.before.repository = t.repository.Beside(t.before)
	}
	return nil
}

// diff answers a question about two revisions. An error ends it: the holder then requests each list
// separately.
func (t *remoteTree) diff(q question) *writer {
	if t.revisions == nil {
		t.revisions = compile.Between(t.before.repository, t.repository)
	}
	x, w := fleetWriter{lines: map[string]int{}}, &writer{}
	for i, name := range q.names {
		d, ds := t.revisions.Diff(q.in, compile.Compared{Target: name,
			Has: [2]bool{q.has[i]&hasBefore != 0, q.has[i]&hasNow != 0}})
		if ds.HasErrors() {
			w.diags(ds)
			return w
		}
		x.changes(d.Changes)
	}
	w.diags(nil)
	w.b = append(w.b, x.b...)
	return w
}

// changes writes each change as its old line, its new line, or both.
func (w *fleetWriter) changes(list []step.Change) {
	w.int(len(list))
	for _, c := range list {
		for _, s := range []*step.Step{c.Old, c.New} {
			w.bool(s != nil)
			if s != nil {
				w.line(*s)
				w.text(s.Source)
			}
		}
	}
}

func (r *fleetReader) changes() []step.Change {
	var out []step.Change
	for range r.count(3) {
		var c step.Change
		for _, s := range []**step.Step{&c.Old, &c.New} {
			if r.bool() {
				found := r.known()
				found.Source = r.text()
				*s = &found
				c.Addr = found.Addr()
			}
		}
		if c.Old == nil && c.New == nil {
			r.fail("a change without content")
		}
		out = append(out, c)
	}
	return out
}
