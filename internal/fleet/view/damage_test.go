package view_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/fleet/view"
)

// The first read or write of a damaged file detects the damage, which is reported once. A new model
// replaces the damaged one.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"garbage":   func(b []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(b)) },
		"zeroes":    func(b []byte) []byte { return make([]byte, len(b)) },
		"cut short": func(b []byte) []byte { return b[:len(b)/3] },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "view.db")
			ctx := context.Background()
			filled(t, file)
			v, err := view.Open(file, view.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, damage(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-v.Damaged():
				t.Fatal(err)
			default:
			}
			_, err = v.Targets(ctx, view.TargetQuery{Now: at(100)})
			for i := 0; err == nil && i < 1000; i++ {
				_, err = v.Target(ctx, string(id(i)), at(100))
			}
			if !errors.Is(err, view.ErrDamaged) {
				t.Fatalf("a damaged file is read: %v", err)
			}
			select {
			case err := <-v.Damaged():
				if !errors.Is(err, view.ErrDamaged) {
					t.Error(err)
				}
			default:
				t.Error("the damage is not reported")
			}
			_ = v.Close()
			if err := view.Remove(file); err != nil {
				t.Fatal(err)
			}
			v, err = view.Open(file, view.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if p, err := v.Targets(ctx, view.TargetQuery{Now: at(100)}); err != nil || p.Total != 0 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// filled creates a model with many targets, all of it in its main file.
func filled(t *testing.T, file string) {
	t.Helper()
	v, err := view.Open(file, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := v.PutTarget(t.Context(), member(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// Errors other than damage do not end the model: a missing target, or a cancelled context.
func TestNotDamaged(t *testing.T) {
	v, err := view.Open(filepath.Join(t.TempDir(), "view.db"), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, ctx := range []context.Context{t.Context(), ended} {
		if _, err := v.Target(ctx, "nobody", at(1)); err == nil || errors.Is(err, view.ErrDamaged) {
			t.Error(err)
		}
	}
	select {
	case err := <-v.Damaged():
		t.Error(err)
	default:
	}
}
