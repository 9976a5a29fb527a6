package fleet

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// onTargets is a command that does something to the targets that are named or selected.
func onTargets[In any](s *cli.Session, c *cobra.Command, did string, names []string,
	r route.Route[route.TargetName, In, document.Done], in In) error {
	return hubclient.EachOnHub(c.Context(), s, did, names, func(hub *client.Client, name string) (document.Done, error) {
		return client.Call(c.Context(), hub, r, route.TargetName{Target: name}, in)
	})
}
