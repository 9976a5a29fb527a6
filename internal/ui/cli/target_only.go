//go:build target

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Hub is nothing here: what is brought to a target is never a hub.
type Hub struct{}

// watching is no flag here, for there is no fleet to watch.
type watching struct{ on bool }

func (*watching) flag(*cobra.Command) {}

func (s *session) statusFleet(context.Context, watching) error {
	return errors.New("cannot show the fleet: this is the program for a target. Ask on your own machine, or on the hub")
}
