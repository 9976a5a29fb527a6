package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// signersFile says, below the root, whose signatures an agent asks for.
const signersFile = "etc/fettle/allowed_signers"

// openMember reads who this host is in its fleet.
func openMember(s *cli.Printer, m cli.Machine, files host.FS, warn func(string)) (*joined.Member, error) {
	signers := func() ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(m.Root, signersFile))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read the allowed signers: %w", err)
		}
		return append([]byte{}, text...), nil
	}
	mb, err := joined.Open(joined.Config{Files: files, Dir: agentDir, Signers: signers, Now: s.App.Now, Warn: warn,
		Descent: func() (content.Descent, error) { return descent(m) }})
	if errors.Is(err, pki.ErrNoIdentity) || errors.Is(err, os.ErrNotExist) {
		return nil, cli.WithHint(fmt.Errorf("this host is in no fleet: %w", err),
			"Enrol it: fettle agent enrol --hub URL --token-file FILE")
	}
	return mb, err
}

// openEnrolled opens what this machine has of its fleet.
func openEnrolled(s *cli.Session) (cli.Machine, host.FS, *joined.Member, func(), error) {
	m, err := s.Machine()
	if err != nil {
		return m, nil, nil, nil, err
	}
	if !cli.FileExists(m.State) {
		return m, nil, nil, nil, cli.Refuse("Enrol it: fettle agent enrol --hub URL --token-file FILE",
			"this host is in no fleet: it is not enrolled")
	}
	m, files, done, err := agentFiles(s)
	if err != nil {
		return m, nil, nil, nil, err
	}
	mb, err := openMember(s.Printer, m, files, nil)
	if err != nil {
		return m, nil, nil, nil, errors.Join(err, done())
	}
	return m, files, mb, func() { _ = done() }, nil
}

// descent returns what this host requires of the history of commits.
func descent(m cli.Machine) (content.Descent, error) {
	c, err := agentConf(m)
	return c.Descent, err
}
