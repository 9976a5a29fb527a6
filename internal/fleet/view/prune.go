package view

import (
	"context"
	"time"
)

// Prune lets go what is too old, and texts that nothing refers to. It may be called at
// any time and as often as one likes; once an hour is enough.
func (v *View) Prune(ctx context.Context, now time.Time) error {
	return v.update(ctx, "what goes", func(t *tx) error {
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM events WHERE at < ?", []any{now.Add(-v.o.Age).UnixNano()}},
			{"DELETE FROM about WHERE (seq, place) NOT IN (SELECT seq, place FROM events)", nil},
			{"DELETE FROM lists WHERE list NOT IN (SELECT list FROM assignments)", nil},
			{"DELETE FROM listed WHERE list NOT IN (SELECT list FROM lists)", nil},
			{"DELETE FROM parts WHERE n NOT IN (SELECT part FROM listed UNION SELECT top FROM assignments)", nil},
			{`DELETE FROM words WHERE n NOT IN (
				SELECT target FROM targets UNION SELECT target FROM assignments UNION SELECT module FROM listed UNION SELECT module FROM parts UNION SELECT commit_ FROM parts UNION SELECT bundle FROM parts
				UNION SELECT target FROM statuses UNION SELECT version FROM statuses UNION SELECT facts FROM statuses UNION SELECT module FROM modules UNION SELECT commit_ FROM modules UNION SELECT bundle FROM modules UNION SELECT state FROM modules
				UNION SELECT target FROM sums UNION SELECT target FROM events UNION SELECT kind FROM events UNION SELECT module FROM events UNION SELECT by FROM events UNION SELECT module FROM about)`, nil},
		} {
			if err := t.exec(step.query, step.args...); err != nil {
				return err
			}
		}
		clear(v.words) // some are gone
		clear(v.parts)
		v.forgetLists()
		return nil
	})
}
