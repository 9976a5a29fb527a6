package agent

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

const agentLong = `Runs this host as a target of a fleet. Its agent applies the configuration
that the hubs of the fleet assign: it fetches, compiles, plans, applies and
checks it, repairs drift, and reports. It continues without the hubs.

The agent uses the same journal and the same lock as fettle apply. Therefore
fettle status, log, rollback and freeze work as without an agent.

  fettle agent enrol --hub https://hub.example.org:7440 --token-file -
  systemctl enable --now fettle-agent

If /etc/fettle/allowed_signers exists, the agent accepts only commits that a key
in this file signed for this fleet. The file has the format of the OpenSSH file
with the same name. A commit is for this fleet if the root directory of the
repository contains an empty file fleet-sha256-DIGEST. DIGEST is the SHA-256
digest of the certificate of the fleet CA.

The signature of a commit does not say that the commits below it are signed. Two
settings in /etc/fettle/agent.conf require more. They need allowed_signers, and
hubs cannot change them:

  require_every_commit_signed = true   Each commit since the last accepted
                                       commit has a valid signature.
  require_descent = true               The last accepted commit is an ancestor
                                       of the new commit.

A commit that does not meet them needs a permit: fettle permit --help.

If a rollout fails, the host returns to the content that it had before, although
its commit is older. It does so without a permit within three days after the
change, or within another time:

  return_within = "12h"                "0" means never, as with require_descent.`
