package view

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// guestsOf returns the guests of a target in its newest report, and the number of guests that are not in the report.
func guestsOf(ctx context.Context, v *View, target int64) (guests []fleet.Guest, more int, err error) {
	err = v.read.QueryRowContext(ctx, "SELECT more FROM places WHERE target = ?", target).Scan(&more)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, 0, v.unread(err)
	}
	rows, err := v.read.QueryContext(ctx, "SELECT name, state, machine FROM guests WHERE supervisor = ? ORDER BY name",
		target)
	if err != nil {
		return nil, 0, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	if guests, err = scanGuests(rows); err != nil {
		err = v.unread(err)
	}
	return guests, more, err
}

// seen is a target in reports about one machine: a supervisor with a guest, or a container.
type seen struct {
	target       int64
	organization fleet.Organization
	guest        string // name of the guest on the supervisor
}

// oneMachine has all reports about one machine.
type oneMachine struct{ supervisors, containers []seen }

// of returns the container that is the guest of a supervisor. Both must report the machine, and no other report may be
// about this machine. The organization of the supervisor must contain the target.
func (m oneMachine) of(s seen) (container seen, conflict bool) {
	within := slices.DeleteFunc(slices.Clone(m.containers), func(c seen) bool {
		return c.target == s.target || !s.organization.Contains(c.organization)
	})
	if len(within) == 0 {
		return seen{}, false
	}
	if len(within) > 1 {
		return seen{}, true
	}
	claims := 0
	for _, other := range m.supervisors {
		if other.target != within[0].target && other.organization.Contains(within[0].organization) {
			claims++
		}
	}
	if claims > 1 {
		return seen{}, true
	}
	return within[0], false
}

// machines returns the reports about machines of targets in the fleet, by machine.
func machines(ctx context.Context, v *View, names []string) (map[string]*oneMachine, error) {
	out := map[string]*oneMachine{}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	if len(names) == 0 {
		return out, nil
	}
	list, err := asJSON(names)
	if err != nil {
		return nil, err
	}
	for _, query := range []string{`
    SELECT g.machine, t.target, t.organization, g.name FROM guests g JOIN targets t ON t.target = g.supervisor
    WHERE t.gone = 0 AND g.machine IN (SELECT value FROM json_each(?))`, `
    SELECT p.machine, t.target, t.organization, '' FROM places p JOIN targets t USING (target)
    WHERE t.gone = 0 AND p.machine IN (SELECT value FROM json_each(?))`} {
		rows, err := v.read.QueryContext(ctx, query, list)
		if err != nil {
			return nil, v.unread(err)
		}
		err = scanSeen(rows, out)
		if err := cmp.Or(err, rows.Close()); err != nil {
			return nil, v.unread(err)
		}
	}
	return out, nil
}

func scanSeen(rows *sql.Rows, to map[string]*oneMachine) error {
	for rows.Next() {
		var machine string
		var s seen
		if err := rows.Scan(&machine, &s.target, &s.organization, &s.guest); err != nil {
			return err
		}
		m := to[machine]
		if m == nil {
			m = &oneMachine{}
			to[machine] = m
		}
		if s.guest == "" {
			m.containers = append(m.containers, s)
		} else {
			m.supervisors = append(m.supervisors, s)
		}
	}
	return rows.Err()
}

// relate returns the container in each guest of a supervisor by the name of the guest, and the guests for which reports
// conflict.
func relate(ctx context.Context, v *View, target int64, guests []fleet.Guest) (containers map[string]seen,
	conflicts map[string]bool, err error) {
	var names []string
	for _, g := range guests {
		names = append(names, g.Machine)
	}
	all, err := machines(ctx, v, names)
	containers, conflicts = map[string]seen{}, map[string]bool{}
	for _, g := range guests {
		m := all[g.Machine]
		if m == nil {
			continue
		}
		for _, s := range m.supervisors {
			if s.target != target || s.guest != g.Name {
				continue
			}
			c, conflict := m.of(s)
			if conflicts[g.Name] = conflict; c.target != 0 {
				containers[g.Name] = c
			}
		}
	}
	return containers, conflicts, err
}

// supervisorSeen returns the supervisor of a target, or a zero value.
func supervisorSeen(ctx context.Context, v *View, n int64) (seen, error) {
	var machine string
	err := v.read.QueryRowContext(ctx, "SELECT machine FROM places WHERE target = ? AND machine <> ''", n).Scan(&machine)
	if errors.Is(err, sql.ErrNoRows) {
		return seen{}, nil
	}
	if err != nil {
		return seen{}, v.unread(err)
	}
	all, err := machines(ctx, v, []string{machine})
	if err != nil {
		return seen{}, err
	}
	for _, s := range all[machine].supervisors {
		if c, _ := all[machine].of(s); c.target == n {
			return s, nil
		}
	}
	return seen{}, nil
}
