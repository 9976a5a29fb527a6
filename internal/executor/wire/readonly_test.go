package wire

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// lookingOnly are the methods that a caller may use who may only look. Whatever else
// there is, now or later, has to be refused to them.
var lookingOnly = []string{"status", "condition", "runs", "show", "run-details", "run-of", "list", "commands", "drift"}

func TestReadOnly(t *testing.T) {
	readOnly(t, nil, "has only the right to read")
	readOnly(t, errors.New("this host refuses it"), "this host refuses it")
}

func readOnly(t *testing.T, refused error, why string) {
	t.Helper()
	near, target := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.Background(), target,
			Served{ReadOnly: true, Refused: refused, Now: time.Now,
				Open: func(context.Context, bool) (executor.Executor, func() error, error) {
					return &far{}, func() error { return nil }, nil
				}})
	}()
	x, err := Dial(context.Background(), near, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for method := range (&server{}).methods() {
		if slices.Contains(lookingOnly, method) {
			continue
		}
		if err := x.conn.call(context.Background(), method, struct{}{}, nil, nil, nil); !errors.Is(err, fs.ErrPermission) ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := x.Status(context.Background()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(x.Close(), <-served); err != nil {
		t.Error(err)
	}
}
