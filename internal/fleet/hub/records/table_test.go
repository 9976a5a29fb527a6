package records

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// opening returns a table with empty buckets, except for those in stores.
func opening(t *testing.T, stores map[string]fleet.Store) *Table {
	t.Helper()
	var table Table
	err := table.Open(t.Context(), func(_ context.Context, name string) (fleet.Store, error) {
		if s, ok := stores[name]; ok {
			return s, nil
		}
		return bustest.NewStore(), nil
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &table
}

// Each mirror of the table has a row, and each bucket has one.
func TestEachMirrorHasARow(t *testing.T) {
	table := opening(t, nil)
	for _, part := range []reflect.Value{reflect.ValueOf(table).Elem(), reflect.ValueOf(&table.Hubs).Elem(),
		reflect.ValueOf(&table.Agreed).Elem()} {
		for i := range part.NumField() {
			if part.Field(i).Kind() == reflect.Pointer && part.Field(i).IsNil() {
				t.Errorf("%s has no row in the table", part.Type().Field(i).Name)
			}
		}
	}
	if table.Users.Mirror == nil || table.Tokens.Mirror == nil {
		t.Error("users or tokens have no row in the table")
	}
	names := slices.Sorted(slices.Values(Names()))
	if len(slices.Compact(names)) != len(table.Buckets) {
		t.Errorf("%v are the buckets", names)
	}
}

// Backups contain these buckets, and hubs load the settings first.
func TestSavedBuckets(t *testing.T) {
	want := []string{"settings", "facts", "people", "tokens", "targets", "names", "requests", "notices", "scopes",
		"rollouts"}
	if got := Saved(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// slow is a store whose watch reports nothing until it is open.
type slow struct {
	*bustest.Store
	open chan struct{}
}

func (s slow) Watch(ctx context.Context, take func(fleet.Entry), filled func()) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.open:
		return s.Store.Watch(ctx, take, filled)
	}
}

// Assignments are read after the signers, whose keys verify them. Other mirrors do not wait.
func TestMirrorsStartAfterTheirDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := slow{bustest.NewStore(), make(chan struct{})}
		table := opening(t, map[string]fleet.Store{"settings": settings})
		ctx, stop := context.WithCancel(t.Context())
		var g errgroup.Group
		table.Follow(ctx, &g)
		synctest.Wait()
		if isFilled(table.Assignments) || !isFilled(table.Targets) {
			t.Errorf("assignments are filled: %v, targets: %v", isFilled(table.Assignments), isFilled(table.Targets))
		}
		close(settings.open)
		if err := table.Filled(ctx); err != nil {
			t.Error(err)
		}
		stop()
		_ = g.Wait()
	})
}

func isFilled(m interface{ Filled() <-chan struct{} }) bool {
	select {
	case <-m.Filled():
		return true
	default:
		return false
	}
}
