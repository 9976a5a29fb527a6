package view

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// defaultEvents is the default size of a page of events.
const defaultEvents = 100

// cursor returns the position as text. It is the same at every hub.
func (p place) cursor() string { return fmt.Sprintf("%d.%d", p.seq, p.place) }

func parseCursor(s string) (place, error) {
	seq, at, ok := strings.Cut(s, ".")
	a, err := strconv.ParseInt(seq, 10, 64)
	b, berr := strconv.Atoi(at)
	if !ok || err != nil || berr != nil || a < 0 || b < 0 {
		return place{}, queryError(fmt.Errorf("cannot read %.40q as a cursor: use the cursor of an event", s))
	}
	return place{a, b}, nil
}

// addWithin limits events e of targets t with the kind k to the boundary of a request: to events of its targets since
// they are in their organization, and to events of the organization itself and of those above and below it.
func (c *condition) addWithin(ctx context.Context) {
	b := fleet.BoundaryOf(ctx)
	if b.All() {
		return
	}
	text, args := within(ctx)
	for _, k := range tenantKinds() {
		args = append(args, k)
	}
	either := "(" + text + " AND e.at >= t.moved AND (e.hub = 0 OR k.text IN (?" +
		strings.Repeat(", ?", len(tenantKinds())-1) + "))"
	if o := string(b.Organization); o != "" && !b.Limited {
		above := b.Organization.Path()
		either += " OR e.organization > 0 AND e.organization IN (SELECT n FROM words WHERE text >= ? AND text < ?" +
			" OR text IN (?" + strings.Repeat(", ?", len(above)-1) + "))"
		args = append(args, o+"/", o+"0")
		for _, path := range above {
			args = append(args, path)
		}
	}
	c.add(either+")", args...)
}

// eventQuery selects events e for the function events.
const eventQuery = `
    SELECT e.seq, e.place, e.at, COALESCE(i.text, ''), COALESCE(t.name, ''), COALESCE(k.text, ''),
    COALESCE(m.text, ''), e.run, e.changes, COALESCE(p.text, e.text), e.error, COALESCE(b.text, ''), e.duration
    FROM events e LEFT JOIN words i ON i.n = e.target LEFT JOIN targets t ON t.target = e.target
    LEFT JOIN words k ON k.n = e.kind LEFT JOIN words m ON m.n = e.module LEFT JOIN words b ON b.n = e.by
    LEFT JOIN words p ON p.n = e.phrase`

// Events returns a page of events in the order of the log, oldest first. Its cursor leads to the
// next page, also if that page is still empty.
func (v *View) Events(ctx context.Context, q EventQuery) (document.EventPage, error) {
	page := document.EventPage{Format: document.EventPageFormat, Events: []document.Event{}, Cursor: q.After}
	where, err := v.conditions(ctx, q)
	if err != nil {
		return page, err
	}
	limit := min(cmp.Or(max(q.Limit, 0), defaultEvents), MaxPage)
	newest := q.After == "" && q.Since.IsZero()
	order := "ASC"
	if newest {
		order = "DESC"
	}
	query := eventQuery + " WHERE " + strings.Join(where.text, " AND ") + " ORDER BY e.seq " + order + ", e.place " +
		order + " LIMIT ?"
	rows, err := v.read.QueryContext(ctx, query, append(where.args, limit)...)
	if err != nil {
		return page, v.unread(err)
	}
	defer rows.Close()
	if page.Events, err = events(rows); err != nil {
		return page, v.unread(err)
	}
	if newest {
		slices.Reverse(page.Events)
	}
	if n := len(page.Events); n > 0 {
		page.Cursor = page.Events[n-1].Cursor
	}
	if page.Cursor == "" {
		page.Cursor = place{}.cursor()
	}
	return page, nil
}

func events(rows *sql.Rows) ([]document.Event, error) {
	out := []document.Event{}
	for rows.Next() {
		var p place
		var e document.Event
		if err := rows.Scan(&p.seq, &p.place, &e.At, &e.Target, &e.Name, &e.Kind, &e.Module, &e.Run, &e.Changes, &e.Text,
			&e.Error, &e.By, &e.Duration); err != nil {
			return out, err
		}
		e.Cursor = p.cursor()
		out = append(out, e)
	}
	return out, rows.Err()
}

func (v *View) conditions(ctx context.Context, q EventQuery) (condition, error) {
	var c condition
	c.add("1")
	c.addWithin(ctx)
	if q.Target != "" {
		n, err := v.find(ctx, q.Target)
		if err != nil {
			return c, err
		}
		c.add("e.target = ?", n)
	}
	if q.Module != "" {
		const n = "(SELECT n FROM words WHERE text = ?)"
		c.add("(e.module = "+n+" OR e.about IN (SELECT about FROM sets WHERE module = "+n+"))", q.Module, q.Module)
	}
	if len(q.Kinds) > 0 {
		c.add("k.text IN (?" + strings.Repeat(", ?", len(q.Kinds)-1) + ")")
		for _, k := range q.Kinds {
			c.args = append(c.args, k)
		}
	}
	for _, limit := range []struct {
		text string
		at   time.Time
	}{{"e.at >= ?", q.Since}, {"e.at < ?", q.Until}} {
		if !limit.at.IsZero() {
			c.add(limit.text, limit.at.UnixNano())
		}
	}
	if q.After != "" {
		p, err := parseCursor(q.After)
		if err != nil {
			return c, err
		}
		c.add("(e.seq, e.place) > (?, ?)", p.seq, p.place)
	}
	return c, nil
}
