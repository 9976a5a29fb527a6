package hint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"fettle.dev/fettle/internal/hint"
)

func ExampleRefuse() {
	err := hint.Refuse("Log in: fettle login https://HOST:PORT", "cannot connect to a hub: there is no login")
	text, _ := hint.Of(err)
	fmt.Println(err)
	fmt.Println(text)
	// Output:
	// cannot connect to a hub: there is no login
	// Log in: fettle login https://HOST:PORT
}

// TestWith: the error and its text stay, and nil stays nil.
func TestWith(t *testing.T) {
	if hint.With(nil, "do this") != nil {
		t.Error("an error without an error")
	}
	err := hint.With(fmt.Errorf("cannot read: %w", fs.ErrNotExist), "create it")
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "cannot read: file does not exist" {
		t.Errorf("%v", err)
	}
}

// TestOf: the outermost hint counts, also below other errors.
func TestOf(t *testing.T) {
	if text, ok := hint.Of(fs.ErrNotExist); ok {
		t.Errorf("a hint without a hint: %q", text)
	}
	inner := fmt.Errorf("web1: %w", hint.Refuse("inner", "cannot"))
	if text, _ := hint.Of(inner); text != "inner" {
		t.Errorf("%q", text)
	}
	if text, _ := hint.Of(hint.With(inner, "outer")); text != "outer" {
		t.Errorf("%q", text)
	}
}
