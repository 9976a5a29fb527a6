package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// tx is a transaction for writing.
type tx struct {
	*sql.Tx
	ctx     context.Context
	v       *View
	changed []int64 // numbers of targets that ByID must read again
	// changedAll means that ByID must read all targets again.
	changedAll bool
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

// row queries one row.
func (t *tx) row(query string, args ...any) *sql.Row {
	if s := t.prepared(query); s != nil {
		return s.QueryRowContext(t.ctx, args...)
	}
	return t.QueryRowContext(t.ctx, query, args...)
}

// query queries several rows.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	if s := t.prepared(query); s != nil {
		return s.QueryContext(t.ctx, args...)
	}
	return t.QueryContext(t.ctx, query, args...)
}

// maxPrepared limits prepared statements.
const maxPrepared = 100

// prepared returns a prepared statement, because parsing takes longer than execution. It returns
// nil for a new statement, which is prepared after the transaction: until then the only connection
// for writing is in use.
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

// prepareWished prepares new statements. An invalid statement fails when it is used.
func (v *View) prepareWished(ctx context.Context) {
	for _, query := range v.wished {
		if s, err := v.write.PrepareContext(ctx, query); err == nil {
			v.prepared[query] = s
		}
	}
	v.wished = nil
}

// word returns the number of a text, and inserts a new text. The number of "" is 0.
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

// Limits of the caches: the numbers of texts and of parts, and the length of a cached text in
// bytes.
const (
	maxWords = 50_000
	maxWord  = 128
	maxParts = 4_000
)

// numbers returns the numbers of several texts.
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

// asJSON encodes a value.
func asJSON(doc any) (string, error) {
	b, err := json.Marshal(doc)
	return string(b), err
}
