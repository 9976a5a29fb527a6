package view

import (
	"database/sql"

	"fettle.dev/fettle/internal/fleet"
)

// scanGuests reads rows of the table guests.
func scanGuests(rows *sql.Rows) (out []fleet.Guest, err error) {
	for rows.Next() {
		var g fleet.Guest
		if err := rows.Scan(&g.Name, &g.State, &g.Machine); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, rows.Err()
}
