package access_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/host/mem"
)

// Consecutive pages are the whole log. The last records are found from its end. An offset at which
// no record begins is refused.
func TestPage(t *testing.T) {
	disk := mem.NewFS(mem.Options{})
	f := &access.File{FS: disk, Path: "/audit.log"}
	if got, first, next, err := f.Page(-1, 10); err != nil || len(got)+int(first)+int(next) > 0 {
		t.Fatalf("of no file: %v %d %d %v", got, first, next, err)
	}
	trail, err := access.OpenTrail(f, "hub1", start)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 3000 {
		e := entry(i)
		e.Reason = strings.Repeat("x", i%700) // more than one page of bytes
		if err := trail.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	records, err := f.Records()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		all = append(all, string(r))
	}
	for _, limit := range []int{1_000, 100_000} {
		var read []string
		at := int64(0)
		for {
			got, first, next, err := f.Page(at, limit)
			if err != nil || first != at {
				t.Fatalf("at %d: it begins at %d, %v", at, first, err)
			}
			if len(got) == 0 {
				break
			}
			read, at = append(read, got...), next
		}
		if !slices.Equal(read, all) {
			t.Errorf("with %d at once %d of %d records are read", limit, len(read), len(all))
		}
		if _, _, _, err := f.Page(at+1, 1); !errors.Is(err, access.ErrNoRecord) {
			t.Errorf("behind its end: %v", err)
		}
	}
	got, first, next, err := f.Page(-1, 7)
	if err != nil || !slices.Equal(got, all[len(all)-7:]) {
		t.Errorf("the last seven are %d, %v", len(got), err)
	}
	if again, _, end, err := f.Page(first, 100); err != nil || !slices.Equal(again, got) || end != next {
		t.Errorf("from where they begin: %d, %v", len(again), err)
	}
	if got, _, _, err := f.Page(-1, 100_000); err != nil || len(got) == 0 || !slices.Equal(got, all[len(all)-len(got):]) {
		t.Errorf("the last of all are %d, %v", len(got), err)
	}
	if _, _, _, err := f.Page(5, 1); !errors.Is(err, access.ErrNoRecord) {
		t.Errorf("within a record: %v", err)
	}
}
