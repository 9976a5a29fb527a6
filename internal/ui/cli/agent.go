//go:build !target

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
)

const agentLong = `An agent keeps this machine as the hubs of its fleet assign, and goes on doing
so without them: it fetches, compiles, plans, applies, checks, repairs what
drifts, and reports. It works on the machine as fettle apply does, with the same
journal and the same lock, so that fettle status, log, rollback and freeze are
all there is to know.

  fettle agent enrol --hub https://hub.example.org:7440 --token-file -
  systemctl enable --now fettle-agent

Where /etc/fettle/allowed_signers is, in the form of OpenSSH's file of that name,
nothing is taken but commits that one of its keys signed for this fleet: the top of
the repository has an empty file fleet-sha256-DIGEST, named by the fleet CA.`

func newAgent(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:     "agent",
		Short:   "Run this machine as a target of a fleet",
		Long:    agentLong,
		Example: "  sudo fettle agent enrol --hub https://hub.example.org:7440 --token-file token\n  sudo fettle agent status",
		Args:    args(0, 0),
		RunE:    unknownCommand,
	}
	c.AddCommand(newAgentEnrol(s), newAgentRun(s), newAgentStatus(s), newAgentAsk(s), newAgentForget(s))
	return c
}

// agentDir is where an agent lies in the state directory.
const agentDir = "/agent"

// agentFiles opens the state directory for an agent, and makes it.
func (s *session) agentFiles() (Machine, host.FS, func() error, error) {
	m, err := s.machine()
	if err == nil && s.app.State == nil {
		err = errors.New("cannot have an agent here: this program was made without")
	}
	if err != nil {
		return m, nil, nil, err
	}
	files, done, err := s.app.State(m)
	return m, files, done, err
}

type enrolFlags struct {
	hub, token, tokenFile, name string
	again, adopt                bool
}

func newAgentEnrol(s *session) *cobra.Command {
	var f enrolFlags
	c := &cobra.Command{
		Use:   "enrol --hub URL --token-file FILE",
		Short: "Enrol this machine in a fleet",
		Long: `Makes a key on this machine, which never leaves it, and has a hub vouch for it.
The hub is believed only if the authority behind it is the one that the token
names. It may be called again after any error, and goes on where it was; while
somebody has to approve the machine it ends with an error that says so.

A machine on which another repository or target is applied, for example over SSH, is
not changed: its agent raises an alarm and waits. With --adopt, the first run of the
agent replaces what is applied. Without --hub, --adopt does so for a machine that is
enrolled.

--token-file - reads the token from the standard input. --token puts it where
every account of the machine can read it.`,
		Example: "  sudo fettle agent enrol --hub https://hub.example.org:7440 --token-file - <token",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return s.enrol(c.Context(), f) },
	}
	c.Flags().StringVar(&f.hub, "hub", "", "the `URL` of a hub")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "read the token from this `FILE`, - for the standard input")
	c.Flags().StringVar(&f.token, "token", "", "the `TOKEN` itself; others can see it while this runs")
	c.Flags().StringVar(&f.name, "name", "", "`NAME` of the target (default: this host's)")
	c.Flags().BoolVar(&f.adopt, "adopt", false, "let the agent replace what another repository or target applied here")
	c.Flags().BoolVar(&f.again, "again", false, "enrol a machine that is enrolled, with a new key and as a new target")
	return c
}

func (s *session) enrol(ctx context.Context, f enrolFlags) error {
	if f.adopt && f.hub == "" && f.token == "" && f.tokenFile == "" {
		return s.adoptEnrolled()
	}
	if f.hub == "" || (f.token == "") == (f.tokenFile == "") {
		return refuse("fettle agent enrol --hub https://hub.example.org:7440 --token-file FILE", "cannot enrol: it takes --hub and one of --token-file and --token")
	}
	text, err := s.tokenText(f)
	if err != nil {
		return err
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		return withHint(err, "Make one on a hub: fettle token create")
	}
	if f.name == "" {
		if f.name, err = s.app.Hostname(); err != nil {
			return fmt.Errorf("cannot tell the name of this host; give it with --name: %w", err)
		}
	}
	_, files, done, err := s.agentFiles()
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	if err := makeFolder(files, agentDir); err != nil {
		return err
	}
	client := pki.Client{Folder: pki.Folder{FS: files, Dir: joined.IdentityDir(agentDir)}, Now: s.app.Now, Again: f.again}
	id, err := client.Enrol(ctx, f.hub, token, f.name)
	if errors.Is(err, pki.ErrPending) {
		return withHint(err, "Have it approved, then type the same again")
	}
	if err != nil {
		return err
	}
	if err := setAdopting(files, f.adopt); err != nil {
		return err
	}
	if s.json {
		return s.document(agentDoc{Format: agentFormat, ID: id.ID, Name: id.Name, Fleet: id.Fleet, Hubs: id.Hubs})
	}
	s.printf("%s is the target %s of the fleet %s.\nStart its agent: systemctl enable --now fettle-agent\n", id.Name, id.ID, id.Fleet)
	return nil
}

func makeFolder(files host.FS, dir string) error {
	if err := files.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot make the agent's folder: %w", err)
	}
	return nil
}

// tokenText reads the token, which is never repeated.
func (s *session) tokenText(f enrolFlags) (string, error) {
	if f.token != "" {
		fmt.Fprintln(s.app.Stderr, "Other accounts of this machine can read a token of the command line while it runs: use --token-file -")
		return f.token, nil
	}
	var b []byte
	var err error
	if f.tokenFile == "-" {
		b, err = io.ReadAll(io.LimitReader(s.app.Stdin, 4096))
	} else {
		b, err = os.ReadFile(f.tokenFile)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

const agentFormat = "fettle.agent.status/1"

// agentDoc is what fettle agent status and enrol tell.
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
	// Incompatible is why the last hub refused the agent, "" if it did not: they speak no
	// protocol version in common.
	Incompatible string        `json:"incompatible,omitempty"`
	Status       *fleet.Status `json:"status,omitempty"`
	// Certificates are those of services that were asked for.
	Certificates []agentCertificate `json:"certificates,omitempty"`
}

func newAgentStatus(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show the assignment of this machine's agent, and the state of its modules",
		Long:    "Shows what the agent has written down. It asks no hub, and works whether or not the\nagent runs.",
		Example: "  sudo fettle agent status\n  sudo fettle agent status --json",
		Args:    args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return s.agentStatus() },
	}
}

// signersFile says, below the root, whose signatures an agent asks for.
const signersFile = "etc/fettle/allowed_signers"

// openMember reads who this host is in its fleet.
func (s *session) openMember(m Machine, files host.FS, warn func(string)) (*joined.Member, error) {
	signers := func() ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(m.Root, signersFile))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read whose signatures count: %w", err)
		}
		return append([]byte{}, text...), nil
	}
	mb, err := joined.Open(joined.Config{Files: files, Dir: agentDir, Signers: signers, Now: s.app.Now, Warn: warn})
	if errors.Is(err, pki.ErrNoIdentity) || errors.Is(err, os.ErrNotExist) {
		return nil, withHint(fmt.Errorf("this machine is in no fleet: %w", err), "Enrol it: fettle agent enrol --hub URL --token-file FILE")
	}
	return mb, err
}
