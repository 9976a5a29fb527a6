package probe_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/probe"
)

func TestAgent(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "agent.sock")
	n := probe.Net{Agent: socket}
	ask := func() (string, error) {
		answer, err := n.Fleet(t.Context(), []byte("hello"))
		return string(answer), err
	}
	if _, err := ask(); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("without an agent: %v", err)
	}
	end, err := probe.ServeAgent(t.Context(), socket, func(_ context.Context, request []byte) ([]byte, error) {
		if string(request) != "hello" {
			return nil, errors.New("another request")
		}
		return []byte(`{"done":true}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := ask(); err != nil || got != `{"done":true}` {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := n.Fleet(t.Context(), []byte("x")); err == nil || err.Error() != "another request" {
		t.Errorf("%v", err)
	}
	end()
	if _, err := ask(); err == nil {
		t.Error("an agent that ended answers")
	}
	end, err = probe.ServeAgent(t.Context(), socket, func(context.Context, []byte) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := ask(); err == nil || !strings.Contains(err.Error(), "no answer of a hub") {
		t.Errorf("%v", err)
	}
}
