package local_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/executor/wire"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/journal"
)

// TestCommandWhoseConnectionIsLost goes on to its end, or is ended, as was asked; the
// history of the target tells which.
func TestCommandWhoseConnectionIsLost(t *testing.T) {
	for on, want := range map[string]journal.Outcome{wire.Finish: journal.Succeeded, wire.Stop: journal.Interrupted} {
		t.Run(on, func(t *testing.T) {
			dir := t.TempDir()
			x := localCommander(t, dir)
			near, far := net.Pipe()
			served := make(chan error, 1)
			go func() {
				served <- wire.Serve(context.Background(), far,
					wire.Served{Hello: wire.Hello{Version: "test"}, Now: time.Now, From: "test",
						Open: func(context.Context, bool) (executor.Executor, func() error, error) {
							return x, func() error { return nil }, nil
						}})
			}()
			c, err := wire.Dial(context.Background(), near, wire.Options{OnDisconnect: on})
			if err != nil {
				t.Fatal(err)
			}
			gate := filepath.Join(dir, "gate")
			script := "echo begun; while [ ! -e " + gate + " ]; do sleep 0.01; done; echo over"
			_, err = c.Command(context.Background(), executor.Command{Argv: [][]string{{"sh", "-c", script}}},
				executor.Options{},
				func(executor.Output) { near.Close() })
			if !errors.Is(err, wire.ErrLost) {
				t.Errorf("%v", err)
			}
			if on == wire.Finish {
				if err := os.WriteFile(gate, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			<-served
			all, err := x.Commands(context.Background())
			if err != nil || len(all) != 1 || all[0].Outcome != want || all[0].From != "test" {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

// localCommander is an engine for the programs of this machine with its state in dir.
func localCommander(t *testing.T, dir string) *local.Executor {
	t.Helper()
	h, err := hostlocal.Open("/", hostlocal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := hostlocal.Open(dir, hostlocal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); st.Close() })
	x, err := local.New(h, st, local.Options{Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestCutCommandIsSettled: who next holds the lock says that nobody saw the end of a
// command, and nothing is undone.
func TestCutCommandIsSettled(t *testing.T) {
	for name, settle := range map[string]func(*local.Executor) error{
		"recover": func(x *local.Executor) error {
			_, err := x.Recover(context.Background(), executor.Options{}, nil)
			return err
		},
		"command": func(x *local.Executor) error {
			_, err := x.Command(context.Background(), executor.Command{Argv: [][]string{{"true"}}}, executor.Options{}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st, err := hostlocal.Open(dir, hostlocal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			store, err := journal.OpenWith(st, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.BeginCommand(journal.Command{Argv: [][]string{{"halt"}}}); err != nil {
				t.Fatal(err)
			}
			x := localCommander(t, dir)
			if err := settle(x); err != nil {
				t.Fatal(err)
			}
			all, err := x.Commands(context.Background())
			if err != nil || len(all) == 0 || all[0].Outcome != journal.Interrupted || all[0].Ended == 0 {
				t.Errorf("%+v, %v", all, err)
			}
			if runs, err := x.Runs(context.Background()); err != nil || len(runs) > 0 {
				t.Errorf("%v, %v", runs, err)
			}
		})
	}
}
