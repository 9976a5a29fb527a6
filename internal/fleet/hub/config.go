package hub

import (
	"context"
	"net"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/differences"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Compiler compiles the inventory of a repository. *limited.Compiler implements it.
type Compiler interface {
	Targets(tree repo.Tree) ([]query.Target, diag.List)
	Strategies(tree repo.Tree) ([]query.Strategy, diag.List)
	Coordination
}

// Coordination compiles the objects of a repository that coordinate targets.
type Coordination interface {
	Locks(tree repo.Tree) ([]source.Lock, diag.List)
	Waits(tree repo.Tree) (query.Coordination, diag.List)
	Scopes(tree repo.Tree) (query.Scopes, diag.List)
}

// StateReader is a Compiler that also reads the states that a repository declares. Without it, searches find no states.
type StateReader interface {
	States(tree repo.Tree) ([]query.DeclaredState, diag.List)
}

// Config contains the environment of a hub.
type Config struct {
	Files   host.FS
	Dir     string
	Compile Compiler
	// Comparer returns a compiler that compares lists of targets until its context ends. nil means that the hub cannot
	// compare commits.
	Comparer func(context.Context) differences.Compiler
	// Socket is the path of a socket at which every client has the right admin; "" means none.
	// Listen creates it and accepts only root and the user of this process.
	Socket string
	Listen func(socket string) (net.Listener, error)
	Now    func() time.Time
	// Binary runs a program of the hub's directory with stdin as its standard input, for a
	// notification. If it is nil, the hub runs no programs.
	Binary func(ctx context.Context, argv []string, stdin []byte) error
	// Tasks does tasks of scopes on the host of the hub, without access to the hub; nil: this hub does none. Commits of
	// these tasks must be signed with a key of Signers, unless its text is nil.
	Tasks   TaskService
	Signers func() ([]byte, error)
	// Free returns the free bytes on the file system of a directory, and all bytes that files there
	// can use. If it is nil, the hub does not check the disk.
	Free func(dir string) (free, all uint64, err error)
	// Descriptors is the number of files that this process may open; 0 means 65,536.
	Descriptors int
	// Version is the version of this binary.
	Version string
	// Pages returns the handler of the pages for browsers on the HTTPS port; nil means that there are none.
	Pages func(Pages) http.Handler
	// Warn is called for errors after which the hub continues.
	Warn func(text string)
	// Ready is called when the hub serves agents and users. Stopped is called when it stops serving
	// and waits, because its disk is full or its store has stopped; Ready follows when it serves
	// again. Both may be nil.
	Ready   func(api, bus net.Addr)
	Stopped func()
}

// TaskService does tasks of scopes. hubtasks.Client implements it.
type TaskService interface {
	// Unable returns why it cannot do tasks now, or "".
	Unable() string
	// Do does the work once. An empty outcome means that the result is unknown, also after the end of ctx.
	Do(ctx context.Context, w scopes.Work) (fleet.TaskOutcome, string)
	// Test tests a condition once, see scopes.OnHub.
	Test(ctx context.Context, p query.Probe, limit time.Duration) error
}

// Pages contains what the pages for browsers need of their hub.
type Pages struct {
	API http.Handler
	// SignIn uses the code of a link. It returns the secret of a new session and its duration. If the code is not valid,
	// the error wraps fleet.ErrDenied.
	SignIn func(r *http.Request, code string) (secret string, life time.Duration, err error)
	// SignOut revokes the session of a request.
	SignOut func(r *http.Request) error
	// Provider is the name of the OIDC provider with which users can sign in; "" means that there is none.
	Provider string
	// StartSignIn returns the address at the provider, and the attempt for a cookie of the browser.
	StartSignIn func(r *http.Request) (address, attempt string, err error)
	// FinishSignIn uses the answer of the provider in the address of a request. It returns the same as SignIn.
	FinishSignIn func(r *http.Request, attempt string) (secret string, life time.Duration, err error)
	// Changed returns a channel that is closed when the fleet may have changed.
	Changed func() <-chan struct{}
}

func (c Config) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}
