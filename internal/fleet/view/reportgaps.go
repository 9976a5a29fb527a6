package view

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// ReportGaps returns the active targets whose reports in the log are incomplete: without any
// report, or with a partial report whose predecessor is missing. The next full report closes the
// gap.
func (v *View) ReportGaps(ctx context.Context) ([]fleet.TargetID, error) {
	rows, err := v.read.QueryContext(ctx, `
    SELECT w.text FROM targets t JOIN words w ON w.n = t.target
    LEFT JOIN statuses s ON s.target = t.target WHERE t.active AND NOT t.gone AND coalesce(s.lacks, 1) ORDER BY w.text`)
	if err != nil {
		return nil, v.unread(err)
	}
	defer rows.Close()
	var out []fleet.TargetID
	for rows.Next() {
		var id fleet.TargetID
		if err := rows.Scan(&id); err != nil {
			return nil, v.unread(err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}
