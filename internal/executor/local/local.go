// Package local is the executor for the machine, or a root directory on it, that the
// process can access directly. Every other executor uses this one on the target.
//
//	x, err := local.New(h, stateFS, local.Options{})
//	p, err := x.Plan(ctx, request)
package local

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/sealed"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/names"
	"fettle.dev/fettle/internal/probe"
)

var _ executor.Executor = (*Executor)(nil)

// New opens the state directory, making it when it is missing.
func New(h host.Host, state host.FS, o Options) (*Executor, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Net == nil {
		o.Net = probe.Net{}
	}
	if o.Ballast == 0 {
		o.Ballast = journal.DefaultBallast
	}
	store, err := journal.OpenWith(state, journal.Options{Ballast: o.Ballast})
	if err != nil {
		return nil, fmt.Errorf("cannot open the state directory: %w", err)
	}
	keys := newKeyring(store, o.Identities)
	veiled := sealed.Wrap(h, keys)
	s := &shared{host: veiled, keys: keys, store: store, names: names.New(h), net: o.Net, now: o.Now}
	return newExecutor(s, o), nil
}
