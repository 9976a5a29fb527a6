//go:build target

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/lang/query"
)

// Hub is nothing here: what is brought to a target is never a hub.
type Hub struct{}

// watching is no flag here, for there is no fleet to watch.
type watching struct{ on bool }

func (*watching) flag(*cobra.Command) {}

func statusFleet(context.Context, *printer, watching) error {
	return errors.New("cannot show the fleet: this is the binary for targets. Use your workstation, or the hub")
}

// hubAnswer is nothing here: this program asks no hub.
type hubAnswer struct{}

func (s *session) mayAskHub() bool { return false }

func populate(context.Context, *session, [2]*source) ([]exampleTarget, error) { return nil, nil }

func (s *session) openChosen(ctx context.Context) (*source, error) { return s.openSource(ctx, s.rev) }

func (s *session) connectHub(context.Context, string) (Remote, error) { return nil, errNoHub() }

func selectedByHub(context.Context, *session) ([]query.Target, error) { return nil, errNoHub() }

func errNoHub() error {
	return errors.New("cannot go through a hub: this is the binary for targets. Use your workstation, or the hub")
}
