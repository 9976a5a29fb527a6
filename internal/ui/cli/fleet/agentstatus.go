package fleet

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func agentStatus(s *cli.Session) error {
	_, files, mb, done, err := openEnrolled(s)
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
	if d.Unsent > 1 {
		s.Printf("%s\n", fmt.Sprintf("%d reports wait for a hub", d.Unsent))
	}
}
