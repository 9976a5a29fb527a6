package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

func unknown(name string) error {
	return fmt.Errorf("cannot find the target %.80q: %w", name, fleet.ErrNotFound)
}

// find returns the number of a target within the boundary of a request, by its identity or name.
func (v *View) find(ctx context.Context, name string) (int64, error) {
	var n int64
	text, args := within(ctx)
	err := v.read.QueryRowContext(ctx, `
    SELECT t.target FROM targets t JOIN words w ON w.n = t.target WHERE (w.text = ? OR t.name = ?) AND `+text+`
    ORDER BY w.text = ? DESC, t.gone, t.target DESC LIMIT 1`,
		slices.Concat([]any{name, name}, args, []any{name})...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, unknown(name)
	}
	if err != nil {
		return 0, v.unread(err)
	}
	return n, nil
}
