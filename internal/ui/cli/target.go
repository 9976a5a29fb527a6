//go:build !target

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newTarget(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "target",
		Short: "Targets of the fleet, and hosts over SSH",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "delete-binary",
		Short: "Delete fettle's binary from a host that is reached over SSH",
		Long: `Deletes the binary that the first contact stored on the host, in the cache of
the account. The state directory still contains the records of all runs, so they
can still be undone: the next contact copies the binary again.`,
		Example: "  fettle target delete-binary -t web1\n  fettle target delete-binary --ssh ann@web1",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return deleteTargetBinary(c.Context(), s) },
	})
	c.AddCommand(targetCommands(s)...)
	return c
}

func deleteTargetBinary(ctx context.Context, s *session) error {
	if s.target == "" && s.connectOpts.ssh == "" {
		return refuse("Run: fettle target delete-binary -t TARGET", "cannot delete the binary: no target is named")
	}
	a, err := s.address(ctx, s.target)
	switch {
	case err != nil:
		return err
	case a.Host == "":
		return refuse("See how to reach targets: docs/ssh.md",
			fmt.Sprintf("cannot delete the binary of %q: it has no SSH address", s.target))
	case s.app.Forget == nil:
		return errors.New("cannot reach other hosts: this binary was built without SSH")
	}
	if err := s.app.Forget(ctx, a.Address, s.sshOptions()); err != nil {
		return err
	}
	state := s.state
	if state == "" {
		state = "/var/lib/fettle"
	}
	return s.done("delete-binary", 0,
		fmt.Sprintf("The binary was deleted from %s. The history of the host, and the data to undo its runs, remain in %s.",
			a, state))
}
