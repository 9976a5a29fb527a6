package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/window"
)

// Append writes the records at a position of the log. It ignores positions that were written already,
// and records that cannot be decoded.
func (v *View) Append(ctx context.Context, seq uint64, records [][]byte) error {
	if seq > math.MaxInt64 {
		return errors.New("cannot store a record of the log: its position is too high")
	}
	return v.update(ctx, "the log", func(t *tx) error {
		var at int64
		if err := t.row("SELECT seq FROM position").Scan(&at); err != nil || int64(seq) <= at {
			return err
		}
		for i, r := range records {
			if err := t.record(place{int64(seq), i}, r); err != nil {
				return err
			}
		}
		return t.exec("UPDATE position SET seq = ?, mark = ?", int64(seq), markOf(records))
	})
}

// markOf returns a hash of records, which identifies the log.
func markOf(records [][]byte) []byte {
	sum := sha256.New()
	for _, r := range records {
		_ = binary.Write(sum, binary.BigEndian, uint64(len(r))) // a hash never fails
		_, _ = sum.Write(r)
	}
	return sum.Sum(nil)
}

// place is the position of a record in the log.
type place struct {
	seq   int64
	place int
}

// format returns the format of a record. Usually it is the first field, so that the rest need not
// be decoded.
func format(record []byte) string {
	dec := json.NewDecoder(bytes.NewReader(record))
	var first [3]json.Token
	for i := range first {
		first[i], _ = dec.Token() // an invalid record has no format
	}
	if text, ok := first[2].(string); ok && first[0] == json.Delim('{') && first[1] == "format" {
		return text
	}
	var doc struct {
		Format string `json:"format"`
	}
	_ = json.NewDecoder(bytes.NewReader(record)).Decode(&doc)
	return doc.Format
}

func (t *tx) record(p place, record []byte) error {
	switch format(record) {
	case fleet.ReportFormat:
		if r, err := fleet.ParseReport(record); err == nil && r.Seq <= math.MaxInt64 {
			return t.report(p, r)
		}
	case fleet.HubEventFormat:
		if e, err := fleet.ParseHubEvent(record); err == nil {
			return t.hubEvent(p, e)
		}
	}
	return nil // unknown format, or written by a newer hub: other records still count
}

func (t *tx) report(p place, r fleet.Report) error {
	text, phrase := r.Event.Text, ""
	if r.Event.Kind == fleet.Accepted || r.Event.Kind == fleet.Applied {
		text, phrase = "", text // the text is the generation, which many targets share
	}
	words, err := t.numbers(string(r.Target), string(r.Event.Kind), r.Event.Module, phrase)
	if err != nil {
		return err
	}
	took, ok := r.Event.RunTime()
	if !ok {
		took = 0
	}
	err = t.event(p, words[0], 0, int64(r.Seq), r.At, words[1], words[2], r.Event.Run, r.Event.Changes, text,
		r.Event.Error, 0, words[3], int64(took), 0)
	if err != nil {
		return err
	}
	var newest int64
	var lacked bool
	err = t.row("SELECT seq, lacks FROM statuses WHERE target = ?", words[0]).Scan(&newest, &lacked)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || int64(r.Seq) <= newest {
		return err
	}
	return t.status(p, words[0], r, r.Since > 0 && (lacked || int64(r.Since) != newest))
}

// status replaces the status of a target. lacks means that modules may be missing or outdated.
func (t *tx) status(p place, target int64, r fleet.Report, lacks bool) error {
	s := r.Status
	t.changed = append(t.changed, target)
	facts := ""
	if len(s.Facts) > 0 {
		var err error
		if facts, err = asJSON(s.Facts); err != nil {
			return err
		}
	}
	words, err := t.numbers(s.Version, facts, zone(s.Zone))
	if err != nil {
		return err
	}
	err = t.exec("INSERT OR REPLACE INTO statuses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", target,
		int64(r.Seq), r.At, int64(s.Epoch&math.MaxInt64), int64(s.Generation&math.MaxInt64), words[0], s.Drift, s.Frozen,
		s.Run, s.Changed, s.Error, words[1], lacks, words[2])
	if err == nil {
		err = t.checks(target, s.Checks)
	}
	if err == nil {
		err = t.place(target, s.Place)
	}
	if err != nil {
		return err
	}
	if r.Since > 0 && len(s.Modules) == 0 {
		return nil // no module changed
	}
	now, applied, err := t.modules(target, s.Modules, r.Since > 0)
	if err == nil && len(applied) > 0 {
		err = t.about(p, applied)
	}
	if err != nil {
		return err
	}
	return t.sum(target, now)
}

// zone returns the name of a time zone that exists, or "".
func zone(name string) string {
	if _, err := window.Zone(name); err != nil {
		return ""
	}
	return name
}

// place replaces the reported place of a target. It writes only if the place has changed.
func (t *tx) place(target int64, reported *fleet.Place) error {
	now := reported.Valid()
	if now.Container == "" {
		now.Machine = "" // a host that is not a container is a guest of no target
	}
	had, err := t.storedPlace(target)
	if err != nil || had.Equal(&now) {
		return err
	}
	for _, table := range []string{"DELETE FROM places WHERE target = ?", "DELETE FROM guests WHERE supervisor = ?"} {
		if err := t.exec(table, target); err != nil {
			return err
		}
	}
	if now.Container != "" || now.More > 0 {
		err := t.exec("INSERT INTO places VALUES (?, ?, ?, ?)", target, now.Machine, now.Container, now.More)
		if err != nil {
			return err
		}
	}
	for _, g := range now.Guests {
		err := t.exec("INSERT INTO guests VALUES (?, ?, ?, ?)", target, g.Name, string(g.State), g.Machine)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) storedPlace(target int64) (p fleet.Place, err error) {
	err = t.row("SELECT machine, container, more FROM places WHERE target = ?", target).Scan(&p.Machine, &p.Container,
		&p.More)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return p, err
	}
	rows, err := t.query("SELECT name, state, machine FROM guests WHERE supervisor = ? ORDER BY name", target)
	if err != nil {
		return p, err
	}
	defer func() { _ = rows.Close() }()
	p.Guests, err = scanGuests(rows)
	return p, err
}

// about records the modules whose versions changed with an event, and their commits.
func (t *tx) about(p place, modules []int64) error {
	slices.Sort(modules)
	modules = slices.Compact(modules)
	text := strings.Trim(fmt.Sprint(modules), "[]")
	n, ok := t.v.sets[text]
	if !ok {
		var err error
		if n, err = t.word(text); err != nil {
			return err
		}
		for _, module := range modules {
			if err := t.exec("INSERT OR IGNORE INTO sets VALUES (?, ?)", module, n); err != nil {
				return err
			}
		}
		if len(t.v.sets) >= maxLists {
			clear(t.v.sets)
		}
		t.v.sets[text] = n
	}
	return t.exec("UPDATE events SET about = ? WHERE seq = ? AND place = ?", n, p.seq, p.place)
}

// modules stores the reported states of modules. It returns all rows of the target, and the modules
// with another applied version with their commits. If part is set, modules that the report does not contain stay.
func (t *tx) modules(target int64, all []fleet.ModuleStatus, part bool) (_ map[int64]row, applied []int64, err error) {
	rows, err := t.rows(target)
	if err != nil {
		return nil, nil, err
	}
	changed := false
	named := make(map[int64]bool, len(all))
	for _, m := range all {
		words, err := t.numbers(m.Module, m.Commit, m.Bundle, string(m.State))
		if err != nil {
			return nil, nil, err
		}
		now := row{words[1], words[2], words[3], m.Since, m.Waits, m.Error}
		was, ok := rows[words[0]]
		if m.Bundle != "" && was.bundle != now.bundle {
			applied = append(applied, words[0])
			if m.Commit != "" {
				applied = append(applied, words[1])
			}
		}
		changed = changed || !ok || was != now
		rows[words[0]], named[words[0]] = now, true
	}
	for module := range rows {
		if !part && !named[module] {
			delete(rows, module)
			changed = true
		}
	}
	if !changed {
		return rows, applied, nil
	}
	return rows, applied, t.exec("INSERT OR REPLACE INTO modules VALUES (?, ?)", target, packRows(rows))
}

// maxRows limits the targets with cached rows.
const maxRows = 2_000

// rows returns the rows of the modules of a target. They are cached, because a target with a new
// assignment soon reports again. A caller that changes the map must write the same to the table.
func (t *tx) rows(target int64) (map[int64]row, error) {
	if had, ok := t.v.rows[target]; ok {
		return had, nil
	}
	var b []byte
	err := t.row("SELECT rows FROM modules WHERE target = ?", target).Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	out := map[int64]row{}
	if err := unpackRows(b, out); err != nil {
		return nil, err
	}
	if len(t.v.rows) >= maxRows {
		clear(t.v.rows)
	}
	t.v.rows[target] = out
	return out, nil
}

func (t *tx) hubEvent(p place, e fleet.HubEvent) error {
	words, err := t.numbers(string(e.Target), string(e.Kind), e.Module, e.By, string(e.Organization))
	if err != nil {
		return err
	}
	number := p.seq<<16 + int64(min(p.place, math.MaxUint16)) // unique, and increasing with the log
	return t.event(p, words[0], 1, number, e.At, words[1], words[2], 0, 0, e.Text, e.Error, words[3], 0, 0,
		words[4])
}

// event inserts an event, unless it exists, and deletes the oldest events above the limit.
func (t *tx) event(p place, target, hub, number int64, rest ...any) error {
	err := t.exec("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
		slices.Concat([]any{p.seq, p.place, target, hub, number}, rest)...)
	if err != nil {
		return err
	}
	most := t.v.options.Events
	if target == 0 {
		most *= ofTheHub
	}
	return t.exec(`
    DELETE FROM events WHERE target = ?1 AND hub = ?2 AND number <= (
    SELECT number FROM events WHERE target = ?1 AND hub = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)`, target, hub,
		most)
}

// ofTheHub is the factor between the limits of events about no target and about one target.
const ofTheHub = 20
