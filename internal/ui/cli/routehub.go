//go:build !target

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/render"
)

// streamSilence is the time without data after which an agent gets a request for a sign of life.
const streamSilence = 20 * time.Second

// hubAnswer is the hub of this command line and the rights of the user, read once for all targets.
type hubAnswer struct {
	once    sync.Once
	hub     *client.Client
	changes bool
	err     error
	told    sync.Once // that it is left out
}

// asHub is the hub, and whether who asks may change targets through it.
func (s *session) asHub(ctx context.Context) (*client.Client, bool, error) {
	f := s.fleet
	f.once.Do(func() {
		if f.hub, f.err = s.hub(); f.err != nil {
			return
		}
		var who document.CurrentUser
		who, f.err = client.Get(ctx, f.hub, route.WhoAmI())
		f.changes = slices.Contains(who.Rights, "operate")
	})
	return f.hub, f.changes, f.err
}

// mayAskHub tells whether a hub has a say in how the targets of -t are reached.
func (s *session) mayAskHub() bool {
	return (len(s.words) > 0 || s.target != "") && s.hubIsNear()
}

// hubIsNear reports whether there is a hub to ask: a login, or the socket of one on this machine.
func (s *session) hubIsNear() bool {
	if s.connectOpts.via.value == viaSSH || s.connectOpts.ssh != "" {
		return false
	}
	return s.connectOpts.via.value == viaHub || loggedIn(s.printer) || os.Geteuid() == 0 && fileExists(s.hubSocket())
}

func loggedIn(s *printer) bool { return loginFile(s) != "" && fileExists(loginFile(s)) }

// withoutHub reports whether a command continues without the hub. It does if the user named no hub
// and the socket on this machine refuses connections: a killed hub left the socket, and it is not a
// hub. A notice, once, says that targets of a fleet are omitted: they may be what -t selects.
func (s *session) withoutHub(err error) bool {
	if s.connectOpts.via.value == viaHub || loggedIn(s.printer) || !errors.Is(err, client.ErrStopped) {
		return false
	}
	s.fleet.told.Do(func() {
		fmt.Fprintf(s.app.Stderr, "Enrolled targets are omitted: %s.\n", render.Escape(err.Error()))
	})
	return true
}

// connectHub connects to a target through the hub. A user with only the right read gets an executor
// that changes nothing.
func (s *session) connectHub(ctx context.Context, name string) (Remote, error) {
	if s.root != "/" || s.state != "" {
		return nil, refuse("Leave --root and --state out",
			fmt.Sprintf("cannot reach %s through the hub with --root or --state: its agent uses its own directories", name))
	}
	hub, changes, err := s.asHub(ctx)
	if err != nil {
		return nil, &unreachableTargets{err}
	}
	stream, err := hub.Executor(ctx, name, changes, s.command)
	if err != nil {
		return nil, hubRefused(name, err)
	}
	x, err := wire.Dial(ctx, stream, wire.Options{OnDisconnect: s.connectOpts.onDisconnect.value, Silence: streamSilence,
		Identities: s.identities, Sign: s.commandSigner().call(ctx, name)})
	if err != nil {
		return nil, &unreachableTargets{fmt.Errorf("cannot reach %s through the hub: %w", name, err)}
	}
	if v := x.Hello().Version; v != s.app.Version {
		fmt.Fprintf(s.app.Stderr,
			"The agent of %s runs fettle %s, and this is fettle %s. Features that only one of the two versions has are refused.\n",
			render.Escape(
				name), render.Escape(v), s.app.Version)
	}
	return x, nil
}

// hubRefused explains why a target cannot be reached through the hub. It shortens the message about a
// disconnected target.
func hubRefused(name string, err error) error {
	switch {
	case client.AgentOffline(err):
		return &unreachableTargets{refuse("See its last contact: fettle target show "+name+
			"\nIf the repository declares SSH for it: --via ssh",
			fmt.Sprintf("cannot reach %s through the hub: its agent is not connected", name))}
	case client.Missing(err):
		return &unreachableTargets{refuse("List them: fettle target list",
			fmt.Sprintf("cannot reach %s through the hub: the fleet has no such target", name))}
	case !client.Refused(err):
		return &unreachableTargets{err}
	}
	return err
}
