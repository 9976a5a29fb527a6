package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// readTx is a consistent snapshot for reading the states of modules, which are packed and cannot be
// joined by SQLite.
type readTx struct {
	*sql.Tx
	ctx   context.Context
	texts map[int64]string
	// word reads the text of a number, and doc reads a part.
	word, doc *sql.Stmt
}

// look calls read with a consistent snapshot.
func (v *View) look(ctx context.Context, read func(*readTx) error) error {
	t, err := v.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return v.unread(err)
	}
	defer func() { _ = t.Rollback() }() // nothing to write
	s := &readTx{Tx: t, ctx: ctx, texts: map[int64]string{0: ""}}
	if s.word, err = t.PrepareContext(ctx, "SELECT text FROM words WHERE n = ?"); err == nil {
		s.doc, err = t.PrepareContext(ctx, "SELECT doc FROM parts WHERE n = ?")
	}
	if err == nil {
		err = read(s)
	}
	if err != nil {
		return v.unread(err)
	}
	return nil
}

// text returns the text of a number, or "" for 0 and for an unknown number.
func (s *readTx) text(n int64) (string, error) {
	text, known := s.texts[n]
	if known {
		return text, nil
	}
	err := s.word.QueryRowContext(s.ctx, n).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	s.texts[n] = text
	return text, err
}

// fill sets texts by their numbers.
func (s *readTx) fill(texts map[*string]int64) error {
	for to, n := range texts {
		text, err := s.text(n)
		if err != nil {
			return err
		}
		*to = text
	}
	return nil
}

// numberOf returns the number of a text, or a negative number if the text is unknown.
func (v *View) numberOf(ctx context.Context, text string) (int64, error) {
	var n int64
	err := v.read.QueryRowContext(ctx, "SELECT n FROM words WHERE text = ?", text).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	}
	if err != nil {
		return 0, v.unread(err)
	}
	return n, nil
}

// assigned decodes a part.
func (s *readTx) assigned(part int64) (a fleet.Assigned, err error) {
	var doc []byte
	if err := s.doc.QueryRowContext(s.ctx, part).Scan(&doc); err != nil {
		return a, err
	}
	return a, damaged(json.Unmarshal(doc, &a))
}

// wanted is the assigned version of a module.
type wanted struct {
	n, module int64
	one       one
}

// lists returns the lists of modules that match a condition.
func (s *readTx) lists(where string, args ...any) (map[int64][]wanted, error) {
	rows, err := s.QueryContext(s.ctx,
		"SELECT l.list, p.n, l.module, p.commit_, p.bundle FROM listed l JOIN parts p ON p.n = l.part "+where+
			" ORDER BY l.list, l.place", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64][]wanted{}
	for rows.Next() {
		var list int64
		var p wanted
		if err := rows.Scan(&list, &p.n, &p.module, &p.one.commit, &p.one.bundle); err != nil {
			return nil, err
		}
		out[list] = append(out[list], p)
	}
	return out, rows.Err()
}

// modulesOfLists returns the names of the modules in each list of an assignment.
func (s *readTx) modulesOfLists() (map[int64][]string, error) {
	lists, err := s.lists("")
	out := map[int64][]string{}
	for list, parts := range lists {
		for _, p := range parts {
			name, err := s.text(p.module)
			if err != nil {
				return nil, err
			}
			out[list] = append(out[list], name)
		}
	}
	return out, err
}

// rows returns the reported states of the modules of a target.
func (s *readTx) rows(target int64) (map[int64]row, error) {
	var b []byte
	err := s.QueryRowContext(s.ctx, "SELECT rows FROM modules WHERE target = ?", target).Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	out := map[int64]row{}
	return out, unpackRows(b, out)
}

// stand is an active target, with the time of its last report by its own clock.
type stand struct {
	id, name string
	at       int64
	cloned   bool
}

// unresponsive reports whether the last contact with a target is too long ago.
func (v *View) unresponsive(at stand, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.contacts[fleet.TargetID(at.id)].unresponsive(at.at, now, v.options.Silence)
}

// unresponsiveSince is unresponsive for a target of a query.
func (v *View) unresponsiveSince(t document.Target, now time.Time) bool {
	return v.unresponsive(stand{id: string(t.ID), at: t.Contact}, now)
}

// each calls the function for each active target and each of its assigned modules, or only for one
// module. The row is zero if the target has not reported the module.
func (s *readTx) each(only int64, each func(stand, wanted, row) error) error {
	lists, err := s.lists("WHERE ?1 = 0 OR l.module = ?1", only)
	if err != nil {
		return err
	}
	text, args := within(s.ctx)
	found, err := s.QueryContext(s.ctx, `
    SELECT w.text, t.name, COALESCE(s.at, 0), COALESCE(json_array_length(t.doc, '$.suspect.copies'), 0) > 0, a.list,
    m.rows FROM targets t JOIN words w ON w.n = t.target JOIN assignments a ON a.target = t.target
    LEFT JOIN statuses s ON s.target = t.target LEFT JOIN modules m ON m.target = t.target
    WHERE t.active AND `+text, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	has := map[int64]row{}
	var packed sql.RawBytes
	for found.Next() {
		var at stand
		var list int64
		if err := found.Scan(&at.id, &at.name, &at.at, &at.cloned, &list, &packed); err != nil {
			return err
		}
		if err := unpackRows(packed, has); err != nil {
			return err
		}
		for _, want := range lists[list] {
			if err := each(at, want, has[want.module]); err != nil {
				return err
			}
		}
	}
	return found.Err()
}
