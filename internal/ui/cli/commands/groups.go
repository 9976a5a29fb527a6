// Package commands has the list of all commands of fettle with their groups in help, and the commands
// that use this list: the manual page and the completion of shells.
//
//	app := &cli.App{Commands: commands.All(hub), …}
package commands

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/agent"
	"fettle.dev/fettle/internal/ui/cli/environment"
	"fettle.dev/fettle/internal/ui/cli/exemption"
	"fettle.dev/fettle/internal/ui/cli/explain"
	fleetcmd "fettle.dev/fettle/internal/ui/cli/fleet"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/cli/hub"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/locks"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/internal/ui/cli/organization"
	"fettle.dev/fettle/internal/ui/cli/pages"
	"fettle.dev/fettle/internal/ui/cli/preview"
	"fettle.dev/fettle/internal/ui/cli/repository"
	"fettle.dev/fettle/internal/ui/cli/scopes"
	"fettle.dev/fettle/internal/ui/cli/secrets"
	"fettle.dev/fettle/internal/ui/cli/user"
	"fettle.dev/fettle/internal/ui/cli/waits"
)

// All are the commands of fettle. h runs this binary as a hub; nil: it cannot.
func All(h *hub.Hub) cli.Commands {
	return cli.Commands{
		Groups:    []cli.Group{ofRepository(), ofHost(), ofFleet(h), ofOnce(), ofHistory(), others()},
		Hidden:    list{newMan, hostcmd.NewWatch, hostcmd.NewServe},
		Serve:     hostcmd.NewServe,
		HubAccess: hubclient.NewHubAccess, FleetStatus: fleetcmd.ShowStatus,
	}
}

type list = []cli.NewCommand

func ofRepository() cli.Group {
	return cli.Group{ID: "repository", Short: "Repository", Title: "The repository:", Commands: list{
		repository.NewInit, repository.NewValidate, repository.NewTest, repository.NewFmt, repository.NewCompile,
		repository.NewGraph, repository.NewDiff, secrets.New, repository.NewDocs, repository.NewSchema,
		repository.NewGenerate, repository.NewLookup, moduleCommand,
	}}
}

func ofHost() cli.Group {
	return cli.Group{ID: "machine", Short: "Host", Title: "The host:", Commands: list{
		hostcmd.NewPlan, hostcmd.NewApply, hostcmd.NewRollback, hostcmd.NewConfirm, hostcmd.NewDrift, hostcmd.NewFreeze,
		hostcmd.NewUnfreeze, hostcmd.NewRecover, agent.New,
	}}
}

func ofFleet(h *hub.Hub) cli.Group {
	newHub := func(s *cli.Session) *cobra.Command { return hub.New(s, h) }
	return cli.Group{ID: "fleet", Short: "Fleet", Title: "Fleet, through a hub:", Commands: list{
		newHub, fleetcmd.NewLogin, fleetcmd.NewToken, user.New, fleetcmd.NewTarget, fleetcmd.NewExport,
		fleetcmd.NewEvents, fleetcmd.NewJob, rolloutCommand, pages.New, exemption.New, environment.New,
		organization.New,
		fleetcmd.NewFleet, fleetcmd.NewRequest,
		locks.NewLock, waits.NewBarrier, waits.NewSignal, scopes.NewScope, scopes.NewTask,
		fleetcmd.NewCert, fleetcmd.NewAlarm, fleetcmd.NewNotify, fleetcmd.NewPermit, fleetcmd.NewAudit,
	}}
}

func ofOnce() cli.Group {
	return cli.Group{ID: "once", Short: "Once", Title: "One-time operations, not part of the applied state:",
		Commands: list{once.NewRun, once.NewCopy, once.NewReboot, once.NewWait}}
}

func ofHistory() cli.Group {
	return cli.Group{ID: "history", Short: "History", Title: "Status and history:", Commands: list{
		hostcmd.NewStatus, once.NewFacts, hostcmd.NewLog, hostcmd.NewShow, explain.New, hostcmd.NewGC,
	}}
}

func others() cli.Group {
	return cli.Group{ID: "more", Short: "Other", Title: "More:", Commands: list{
		repository.NewSteps, cli.NewHelp, cli.NewVersion, newCompletion, hostcmd.NewSupportBundle,
	}}
}

// moduleCommand builds the command module: the repository has the modules, and the hub their history.
func moduleCommand(s *cli.Session) *cobra.Command {
	c := repository.NewModule(s)
	c.AddCommand(fleetcmd.NewModuleHistory(s))
	return c
}

// rolloutCommand builds the command rollout: a plan needs the repository, and the rest only the hub.
func rolloutCommand(s *cli.Session) *cobra.Command {
	c := fleetcmd.NewRollout(s)
	c.AddCommand(preview.NewRolloutPlan(s), preview.NewRolloutDiff(s))
	return c
}
