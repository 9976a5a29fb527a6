package agent

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hostreboot"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func agentStatus(s *cli.Session) error {
	m, files, mb, done, err := openEnrolled(s)
	if err != nil {
		return err
	}
	defer done()
	dir, err := durable.Look(files, agentDir)
	if err != nil {
		return err
	}
	kept, err := dir.Load()
	if err != nil {
		return err
	}
	newest, dropped := dir.Reports()
	who := machine.New(machine.Config{Target: mb.ID(), Version: s.App.Version}, kept, newest, dropped).Status()
	_, until := mb.Certificate()
	doc := agentDoc{Format: agentFormat, ID: mb.ID(), Name: mb.Name(), Fleet: mb.Fleet(), Hubs: mb.Hubs(),
		Until: until * int64(time.Second), Unsent: newest - dropped, Status: &who}
	refused, err := joined.ReadProtocol(files, agentDir)
	if err != nil {
		return err
	}
	if refused != nil {
		doc.Incompatible = refused.Error()
	}
	if doc.Reboot, err = hostreboot.Status(s.Printer, m); err != nil {
		return err
	}
	if doc.Certificates, err = agentCertificates(files); err != nil {
		return err
	}
	if s.JSON {
		return s.Document(doc)
	}
	showAgent(s.Printer, doc)
	showAgentCertificates(s.Printer, doc.Certificates)
	return nil
}

func showAgent(s *cli.Printer, d agentDoc) {
	s.Printf("%s, target %s of the fleet %s\nCertificate until %s\n", d.Name, d.ID, d.Fleet, s.Moment(d.Until))
	if d.Incompatible != "" {
		s.Printf("Hubs refuse this agent: %s\n", d.Incompatible)
	}
	if d.Reboot != "" {
		s.Printf("Reboot: %s\n", d.Reboot)
	}
	if d.Status.Generation == 0 {
		s.Printf("It has no assignment yet.\n")
		return
	}
	s.Printf("Generation %d.%d, run %d\n", d.Status.Epoch, d.Status.Generation, d.Status.Run)
	if d.Status.Frozen != "" {
		s.Printf("Frozen: %s\n", d.Status.Frozen)
	}
	if d.Status.Error != "" {
		s.Printf("Error: %s\n", d.Status.Error)
	}
	var rows [][]string
	for _, m := range d.Status.Modules {
		why := m.Waits
		if m.Error != "" {
			why = m.Error
		}
		rows = append(rows, []string{m.Module, string(m.State), hubclient.Short(m.Commit), s.Moment(m.Since), why})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "STATE", "COMMIT", "SINCE", "REASON"}, rows)
	if len(d.Status.Checks) > 0 {
		hubclient.ShowChecks(s, d.Status.Checks)
	}
	if d.Unsent > 1 {
		s.Printf("%s\n", fmt.Sprintf("%d reports wait for a hub", d.Unsent))
	}
}

const agentFormat = "fettle.agent.status/1"

// agentDoc is the JSON document of fettle agent status and enrol.
type agentDoc struct {
	Format string         `json:"format"`
	ID     fleet.TargetID `json:"id"`
	Name   string         `json:"name"`
	Fleet  string         `json:"fleet"`
	Hubs   []string       `json:"hubs"`
	// Until is the end of the certificate, ns since 1970, 0 where it was not looked at.
	Until int64 `json:"until,omitempty"`
	// Unsent are reports that no hub has acknowledged.
	Unsent uint64 `json:"unsent,omitempty"`
	// Incompatible is the reason for which the last hub refused the agent: no common protocol version.
	Incompatible string        `json:"incompatible,omitempty"`
	Status       *fleet.Status `json:"status,omitempty"`
	// Reboot describes a reboot of the host that waits. Certificates are the requested certificates of services.
	Reboot       string             `json:"reboot,omitempty"`
	Certificates []agentCertificate `json:"certificates,omitempty"`
}

func newAgentStatus(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the assignment of this host's agent, and the state of its modules",
		Long: "Shows the state that the agent recorded on this host. The command does not\n" +
			"contact a hub, and the agent does not need to run.",
		Example: "  sudo fettle agent status\n  sudo fettle agent status --json",
		Args:    cli.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return agentStatus(s) },
	}
}
