package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// tx is a transaction that writes.
type tx struct {
	*sql.Tx
	ctx context.Context
	v   *View
}

func (t *tx) exec(query string, args ...any) error {
	var err error
	if s := t.prepared(query); s != nil {
		_, err = s.ExecContext(t.ctx, args...)
	} else {
		_, err = t.ExecContext(t.ctx, query, args...)
	}
	return err
}

// row asks for one row.
func (t *tx) row(query string, args ...any) *sql.Row {
	if s := t.prepared(query); s != nil {
		return s.QueryRowContext(t.ctx, args...)
	}
	return t.QueryRowContext(t.ctx, query, args...)
}

// query asks for several.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	if s := t.prepared(query); s != nil {
		return s.QueryContext(t.ctx, args...)
	}
	return t.QueryContext(t.ctx, query, args...)
}

// maxPrepared bounds how many statements are kept. Those that write several rows are as
// many as there are numbers of rows.
const maxPrepared = 100

// prepared is a statement that is kept, since to read one takes longer than to do what it
// says; nil for one that comes for the first time, which is kept when the transaction has
// ended: there is one connection that writes, and it is busy until then.
func (t *tx) prepared(query string) *sql.Stmt {
	s, known := t.v.prepared[query]
	if s != nil {
		return t.StmtContext(t.ctx, s)
	}
	if !known && len(t.v.prepared) < maxPrepared {
		t.v.prepared[query] = nil
		t.v.wished = append(t.v.wished, query)
	}
	return nil
}

// prepareWished prepares what came for the first time. What cannot be is told when it is
// used.
func (v *View) prepareWished(ctx context.Context) {
	for _, query := range v.wished {
		if s, err := v.write.PrepareContext(ctx, query); err == nil {
			v.prepared[query] = s
		}
	}
	v.wished = nil
}

// word is the number of a text; 0 is that of none.
func (t *tx) word(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if n, ok := t.v.words[text]; ok {
		return n, nil
	}
	var n int64
	err := t.row("SELECT n FROM words WHERE text = ?", text).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.row("INSERT INTO words (text) VALUES (?) RETURNING n", text).Scan(&n)
	}
	if err != nil {
		return 0, err
	}
	if len(t.v.words) > maxWords {
		clear(t.v.words)
	}
	if len(text) <= maxWord {
		t.v.words[text] = n
	}
	return n, nil
}

// What is remembered of the table: so many texts, and none that is longer.
const (
	maxWords = 50_000
	maxWord  = 128
	maxParts = 4_000
)

// numbers are those of several texts.
func (t *tx) numbers(texts ...string) ([]int64, error) {
	out := make([]int64, len(texts))
	for i, text := range texts {
		n, err := t.word(text)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// asJSON is for what has a JSON form always.
func asJSON(doc any) (string, error) {
	b, err := json.Marshal(doc)
	return string(b), err
}
