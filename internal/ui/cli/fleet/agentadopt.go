package fleet

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// adoptFile says that the next run of the agent replaces what another repository or target
// applied. It exists until a run has succeeded.
const adoptFile = agentDir + "/adopt"

func setAdopting(files host.FS, adopt bool) error {
	var err error
	if adopt {
		err = smallfile.Write(files, adoptFile, []byte("1\n"))
	} else {
		err = smallfile.Remove(files, adoptFile)
	}
	if err != nil {
		return fmt.Errorf("cannot record whether the agent replaces the applied state: %w", err)
	}
	return nil
}

// adoptEnrolled lets the agent of an enrolled machine replace what is applied.
func adoptEnrolled(s *cli.Session) error {
	_, files, mb, done, err := openEnrolled(s)
	if err != nil {
		return err
	}
	defer done()
	if err := setAdopting(files, true); err != nil {
		return err
	}
	if s.JSON {
		return s.Document(agentDoc{Format: agentFormat, ID: mb.ID(), Name: mb.Name(), Fleet: mb.Fleet(), Hubs: mb.Hubs()})
	}
	s.Printf("The next run of the agent replaces the applied state.\nStart it now: systemctl restart fettle-agent\n")
	return nil
}

// adopting reads and ends the consent for the agent.
func adopting(s *cli.Printer, files host.FS, warn func(string)) (adopts func() bool, adopted func()) {
	adopts = func() bool {
		text, err := smallfile.Read(files, adoptFile)
		return err == nil && len(text) > 0
	}
	return adopts, func() {
		if err := setAdopting(files, false); err != nil {
			warn(err.Error())
		}
	}
}
