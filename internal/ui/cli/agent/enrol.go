package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

type enrolFlags struct {
	hub, token, tokenFile, name string
	again, adopt                bool
}

func newAgentEnrol(s *cli.Session) *cobra.Command {
	var f enrolFlags
	c := &cobra.Command{
		Use:   "enrol --hub URL --token-file FILE",
		Short: "Enrol this host in a fleet",
		Long: `Creates a key on this host, which never leaves it, and requests a certificate
for the key from a hub. The command trusts the hub only if the token names its
fleet CA. After any error, run the command again: it continues. Until an
operator approves the host, it ends with an error about the missing approval.

If another repository or target is applied here, for example over SSH, the agent
does not change the host: it raises an alarm and waits. With
--replace-applied-state, the first run of the agent replaces that state. The
flag also works on an enrolled host, then without --hub.

--token-file - reads the token from standard input. With --token, every account
of the host can read the token.`,
		Example: "  sudo fettle agent enrol --hub https://hub.example.org:7440 --token-file - <token",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return enrolHost(c.Context(), s, f) },
	}
	c.Flags().StringVar(&f.hub, "hub", "", "the `URL` of a hub")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "read the token from this `FILE`, - for standard input")
	c.Flags().StringVar(&f.token, "token", "", "the `TOKEN` itself; other accounts can read it while the command runs")
	c.Flags().StringVar(&f.name, "name", "", "`NAME` of the target (default: the name of this host)")
	c.Flags().BoolVar(&f.adopt, "replace-applied-state", false,
		"let the agent replace the applied state of another repository or target, and remove what its list does not contain")
	c.Flags().BoolVar(&f.again, "again", false, "enrol an enrolled host again, with a new key and as a new target")
	return c
}

func enrolHost(ctx context.Context, s *cli.Session, f enrolFlags) error {
	if f.adopt && f.hub == "" && f.token == "" && f.tokenFile == "" {
		return adoptEnrolled(s)
	}
	if f.hub == "" || (f.token == "") == (f.tokenFile == "") {
		return cli.Refuse("fettle agent enrol --hub https://hub.example.org:7440 --token-file FILE",
			"cannot enrol: --hub and either --token-file or --token are required")
	}
	text, err := tokenText(s.Printer, f)
	if err != nil {
		return err
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		return cli.WithHint(err, "Make one on a hub: fettle token create")
	}
	if f.name == "" {
		if f.name, err = s.App.Hostname(); err != nil {
			return fmt.Errorf("cannot determine the name of this host; set it with --name: %w", err)
		}
	}
	_, files, done, err := agentFiles(s)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	if err := makeDirectory(files, agentDir); err != nil {
		return err
	}
	client := pki.Client{Directory: pki.Directory{FS: files, Dir: joined.IdentityDir(agentDir)}, Now: s.App.Now,
		Reenrol: f.again}
	id, err := client.Enrol(ctx, f.hub, token, f.name)
	if errors.Is(err, pki.ErrPending) {
		return cli.WithHint(err, "After an operator approves it, run the same command again")
	}
	if err != nil {
		return err
	}
	if err := setAdopting(files, f.adopt); err != nil {
		return err
	}
	if s.JSON {
		return s.Document(agentDoc{Format: agentFormat, ID: id.ID, Name: id.Name, Fleet: id.Fleet, Hubs: id.HubURLs})
	}
	s.Printf("%s is the target %s of the fleet %s.\nStart its agent: systemctl enable --now fettle-agent\n", id.Name,
		id.ID, id.Fleet)
	return nil
}

func makeDirectory(files host.FS, dir string) error {
	if err := files.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot create the directory of the agent: %w", err)
	}
	return nil
}

// tokenText reads the token, which is never repeated.
func tokenText(s *cli.Printer, f enrolFlags) (string, error) {
	if f.token != "" {
		fmt.Fprintln(s.App.Stderr,
			"Other accounts on this host can read a token on the command line while the command runs: use --token-file -")
		return f.token, nil
	}
	var b []byte
	var err error
	if f.tokenFile == "-" {
		b, err = io.ReadAll(io.LimitReader(s.App.Stdin, 4096))
	} else {
		b, err = os.ReadFile(f.tokenFile)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
