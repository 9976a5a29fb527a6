package view

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"

	"fettle.dev/fettle/internal/fleet"
)

// listing is a position in a list of modules, in numbers of words.
type listing struct {
	module int64
	want   one
}

// maxLists limits cached lists.
const maxLists = 200

// list returns the number of a list of modules, and inserts a new list.
func (t *tx) list(all []fleet.Assigned) (int64, error) {
	if len(all) > 0 {
		if n, ok := t.v.same[&all[0]]; ok && n.count == len(all) {
			return n.list, nil
		}
	}
	parts := make([]int64, len(all))
	digest := sha256.New()
	for i, m := range all {
		var err error
		if parts[i], err = t.part(m); err != nil {
			return 0, err
		}
		_ = binary.Write(digest, binary.BigEndian, parts[i]) // a hash never fails
	}
	sum := digest.Sum(nil)
	var n int64
	err := t.row("SELECT list FROM lists WHERE digest = ?", sum).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		n, err = t.newList(sum, all, parts)
	}
	if err == nil && len(all) > 0 {
		if len(t.v.same) >= maxLists {
			clear(t.v.same)
		}
		t.v.same[&all[0]] = shared{n, len(all)}
	}
	return n, err
}

// shared is a cached list, with its length.
type shared struct {
	list  int64
	count int
}

func (t *tx) newList(sum []byte, all []fleet.Assigned, parts []int64) (n int64, err error) {
	if err := t.row("INSERT INTO lists (digest) VALUES (?) RETURNING list", sum).Scan(&n); err != nil {
		return 0, err
	}
	for i, m := range all {
		module, err := t.word(m.Module)
		if err != nil {
			return 0, err
		}
		if err := t.exec("INSERT INTO listed VALUES (?, ?, ?, ?)", n, i, module, parts[i]); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// listings returns the elements of a list in order.
func (t *tx) listings(list int64) ([]listing, error) {
	if had, ok := t.v.lists[list]; ok {
		return had, nil
	}
	rows, err := t.query(
		"SELECT l.module, p.commit_, p.bundle FROM listed l JOIN parts p ON p.n = l.part WHERE l.list = ? ORDER BY l.place",
		list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []listing
	for rows.Next() {
		var l listing
		if err := rows.Scan(&l.module, &l.want.commit, &l.want.bundle); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	if len(t.v.lists) >= maxLists {
		clear(t.v.lists)
	}
	t.v.lists[list] = out
	return out, rows.Err()
}

// forget clears the caches of numbers.
func (v *View) forget() {
	clear(v.words)
	clear(v.parts)
	clear(v.sets)
	clear(v.lists)
	clear(v.same)
}

// listOf returns the list in the assignment of a target, or 0.
func (t *tx) listOf(target int64) (n int64, err error) {
	err = t.row("SELECT list FROM assignments WHERE target = ?", target).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
