package repository

import (
	"context"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// openWorkTree opens the repository for commands that write into it.
func openWorkTree(ctx context.Context, s *cli.Session) (*workspace.Source, error) {
	if s.Rev != "" {
		return nil, cli.Refuse("Omit --rev, and commit the written files",
			"cannot write into a revision: this is about the files as they are")
	}
	return s.OpenSource(ctx, "")
}
