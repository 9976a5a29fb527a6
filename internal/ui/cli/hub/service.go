package hub

import (
	"context"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
)

// hubDir is where a hub keeps all that it has.
const hubDir = "/var/lib/fettle-hub"

// Hub is this program as a hub.
type Hub struct {
	// Give gives the directory of a hub to a user, see owner.Give.
	Give func(dir, user string) (int, error)
	// NewAs makes the directory of a new hub for a user, and continues as this user.
	NewAs func(dir, user string) error
	// RunAs continues as the owner of the directory of a hub, if root runs it. owner.ErrRoot is in
	// the chain of the error about a service of root.
	RunAs func(dir, socket string) error
	// Init makes one, see hub.Init; it gives the digest of the authority.
	Init func(b hub.InitOptions) ([32]byte, error)
	// Join makes one of a fleet that there is, see hub.Join.
	Join func(ctx context.Context, j hub.JoinOptions) (hub.Settings, error)
	// Serving notifies the service manager, if there is one, that the hub serves, or that it stopped
	// serving and tries again. The service is not active before the first call.
	Serving func(serves bool)
	// Run runs one until ctx ends.
	Run func(ctx context.Context, r HubRun) error
	// RunTasks runs commands of tasks for the hub on this host until ctx ends, see hubtasks.Server.
	RunTasks func(ctx context.Context, t TasksRun) error
	// Backup and Restore save a directory and make it again, see hub.WriteBackup and
	// hub.Restore.
	Backup  func(dir string, state document.HubState, out io.Writer) error
	Restore func(dir string, in io.Reader) (hub.Settings, error)
	// UseNats changes how a hub reaches its NATS cluster, see hub.UseNats.
	UseNats func(dir string, g hub.NatsSettings, begin bool) error
}

// HubRun is how a hub runs.
type HubRun struct {
	Dir    string
	Socket string
	// TaskSocket is the socket of the service that runs commands of tasks on this host.
	TaskSocket string
	// Ready is called each time that the hub begins to serve, with the addresses that it listens on.
	// Stopped is called each time that it stops serving for some time.
	Ready   func(api, bus fmt.Stringer)
	Stopped func()
	Warn    func(text string)
	nats    natsFlags
}

// TasksRun is how commands of tasks run.
type TasksRun struct {
	Socket string
	// User is the user of the hub, which must be another one.
	User string
	// Ready is called when the hub can connect.
	Ready func()
}

// natsFlags say on which NATS cluster of others a fleet keeps everything.
type natsFlags struct {
	urls      []string
	creds, ca string
	replicas  int
}
