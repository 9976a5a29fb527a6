package view

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// Encoded modules can be decoded, and damaged ones cause an error or other rows, but never a panic.
func TestRows(t *testing.T) {
	number := rapid.Int64Range(0, 1<<62)
	one := rapid.Custom(func(t *rapid.T) row {
		return row{number.Draw(t, "commit"), number.Draw(t, "bundle"), rapid.Int64Range(0, 9).Draw(t, "state"),
			rapid.Int64().Draw(t, "since"), rapid.String().Draw(t, "waits"), rapid.String().Draw(t, "failure")}
	})
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.MapOf(number, one).Draw(t, "rows")
		b := packRows(rows)
		got := map[int64]row{7: {}}
		if err := unpackRows(b, got); err != nil || !maps.Equal(got, rows) {
			t.Fatalf("wrote %v, read %v, %v", rows, got, err)
		}
		if len(b) == 0 {
			return
		}
		_ = unpackRows(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")], got)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_ = unpackRows(b, got)
	})
	if err := unpackRows([]byte{2}, map[int64]row{}); err == nil {
		t.Error("read what is cut off")
	}
}

// Modules that were applied in one run from one commit take few bytes each.
func TestRowsAreSmall(t *testing.T) {
	rows := map[int64]row{}
	for i := range int64(50) {
		rows[20+2*i] = row{commit: 3, bundle: 21 + 2*i, state: 7, since: 1_795_355_153_000_000_000}
	}
	if n := len(packRows(rows)); n > 170 {
		t.Errorf("50 modules take %d bytes", n)
	}
}
