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
	_, err := t.ExecContext(t.ctx, query, args...)
	return err
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
	err := t.QueryRowContext(t.ctx, "SELECT n FROM words WHERE text = ?", text).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.QueryRowContext(t.ctx, "INSERT INTO words (text) VALUES (?) RETURNING n", text).Scan(&n)
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
