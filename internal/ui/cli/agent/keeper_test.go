package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/ui/cli"
)

// askedLink is a connection to a hub that knows one request.
type askedLink struct{ fleet.Link }

func (askedLink) Ask(_ context.Context, messageType string, body []byte) ([]byte, error) {
	if messageType != fleet.MessageWait || string(body) != "request" {
		return nil, errors.New("cannot understand " + messageType)
	}
	return []byte("answer"), nil
}

// TestRunsReachHubs: requests of runs reach a hub through the socket of the agent, also after an agent that was killed.
func TestRunsReachHubs(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "agent") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	files, err := here.Root(root)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	socket := filepath.Join(root, probe.AgentSocket)
	serve := func() (end func()) {
		return serveWaits(t.Context(), cli.Machine{Root: root}, files, askedLink{}, func(text string) { t.Error(text) })
	}
	n := probe.Net{Agent: socket}
	end := serve()
	if got, err := n.Fleet(t.Context(), []byte("request")); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := n.Fleet(t.Context(), []byte("x")); err == nil || err.Error() != "cannot understand wait" {
		t.Errorf("another request: %v", err)
	}
	if st, err := os.Stat(filepath.Dir(socket)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket: %v, %v", st, err)
	}
	end()
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer serve()()
	if got, err := n.Fleet(t.Context(), []byte("request")); err != nil || string(got) != "answer" {
		t.Errorf("after an agent that was killed: %q, %v", got, err)
	}
}
