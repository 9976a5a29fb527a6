package hubclient

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
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// streamSilence is the time without data after which an agent gets a request for a sign of life.
const streamSilence = 20 * time.Second

// hubAccess is the hub of one command line and the rights of the user, read once for all targets.
type hubAccess struct {
	s       *cli.Session
	once    sync.Once
	hub     *client.Client
	changes bool
	err     error
	told    sync.Once // that it is left out
}

// NewHubAccess is the access of one command line to the hub of its user.
func NewHubAccess(s *cli.Session) cli.HubAccess { return &hubAccess{s: s} }

// asHub is the hub, and whether who asks may change targets through it.
func asHub(ctx context.Context, s *cli.Session) (*client.Client, bool, error) {
	f := s.HubAccess.(*hubAccess)
	f.once.Do(func() {
		if f.hub, f.err = HubOf(s.Printer); f.err != nil {
			return
		}
		var who document.CurrentUser
		who, f.err = client.Get(ctx, f.hub, route.WhoAmI())
		f.changes = slices.Contains(who.Rights, "operate") || slices.ContainsFunc(who.Grants,
			func(g document.UserGrant) bool { return g.Role == "operate" })
	})
	return f.hub, f.changes, f.err
}

// mayAskHub tells whether a hub has a say in how the targets of -t are reached.
func mayAskHub(s *cli.Session) bool {
	return (len(s.Words) > 0 || s.Target != "") && HubIsNear(s)
}

// HubIsNear reports whether there is a hub to ask: a login, or the socket of one on this machine.
func HubIsNear(s *cli.Session) bool {
	if s.ConnectOpts.Via.Value == cli.ViaSSH || s.ConnectOpts.SSH != "" {
		return false
	}
	return s.ConnectOpts.Via.Value == cli.ViaHub || LoggedIn(s.Printer) || os.Geteuid() == 0 &&
		cli.FileExists(socketOfHub(s.Printer))
}

// withoutHub reports whether a command continues without the hub. It does if the user named no hub
// and the socket on this machine refuses connections: a killed hub left the socket, and it is not a
// hub. A notice, once, says that targets of a fleet are omitted: they may be what -t selects.
func withoutHub(s *cli.Session, err error) bool {
	if s.ConnectOpts.Via.Value == cli.ViaHub || LoggedIn(s.Printer) || !errors.Is(err, client.ErrStopped) {
		return false
	}
	s.HubAccess.(*hubAccess).told.Do(func() {
		fmt.Fprintf(s.App.Stderr, "Enrolled targets are omitted: %s.\n", render.Escape(err.Error()))
	})
	return true
}

// Connect connects to a target through the hub. A user with only the right read gets an executor
// that changes nothing.
func (a *hubAccess) Connect(ctx context.Context, name string) (cli.Remote, error) {
	s := a.s
	if s.Root != "/" || s.State != "" {
		return nil, cli.Refuse("Leave --root and --state out",
			fmt.Sprintf("cannot reach %s through the hub with --root or --state: its agent uses its own directories", name))
	}
	hub, changes, err := asHub(ctx, s)
	if err != nil {
		return nil, round.Unreachable(err)
	}
	stream, err := hub.Executor(ctx, name, changes, s.Command)
	if err != nil {
		return nil, hubRefused(name, err)
	}
	x, err := wire.Dial(ctx, stream, wire.Options{OnDisconnect: s.ConnectOpts.OnDisconnect.Value, Silence: streamSilence,
		Identities: s.Identities, Sign: SignerOf(s).call(ctx, name)})
	if err != nil {
		return nil, round.Unreachable(fmt.Errorf("cannot reach %s through the hub: %w", name, err))
	}
	if v := x.Hello().Version; v != s.App.Version {
		fmt.Fprintf(s.App.Stderr,
			"The agent of %s runs fettle %s, and this is fettle %s. Features that only one of the two versions has are refused.\n",
			render.Escape(
				name), render.Escape(v), s.App.Version)
	}
	return x, nil
}

// hubRefused explains why a target cannot be reached through the hub. It shortens the message about a
// disconnected target.
func hubRefused(name string, err error) error {
	switch {
	case client.AgentOffline(err):
		return round.Unreachable(cli.Refuse("See its last contact: fettle target show "+name+
			"\nIf the repository declares SSH for it: --via ssh",
			fmt.Sprintf("cannot reach %s through the hub: its agent is not connected", name)))
	case client.Missing(err):
		return round.Unreachable(cli.Refuse("List them: fettle target list",
			fmt.Sprintf("cannot reach %s through the hub: the fleet has no such target", name)))
	case !client.Refused(err):
		return round.Unreachable(err)
	}
	return err
}
