// Package agent has the commands of a host that is a target of a fleet: to enrol it, to run its agent, and to
// send its requests. It also has the command to upgrade agents through a hub.
//
//	cli.Group{Commands: []cli.NewCommand{agent.New}}
package agent

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

// New builds the command agent, to run this host as a target of a fleet.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "agent",
		Short: "Run this host as a target of a fleet",
		Long:  agentLong,
		Example: "  sudo fettle agent enrol --hub https://hub.example.org:7440 --token-file token\n" +
			"  sudo fettle agent status",
		Args: cli.Args(0, 0),
		RunE: cli.UnknownCommand,
	}
	c.AddCommand(newAgentEnrol(s), newAgentRun(s), newAgentStatus(s), newAgentRequest(s), newAgentDeleteCertificate(s),
		newAgentUpgrade(s))
	return c
}
