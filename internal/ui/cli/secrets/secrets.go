// Package secrets has the commands for the secrets of a repository: their values, and the users and hosts that
// can decrypt them.
//
//	cli.Group{Commands: []cli.NewCommand{secrets.New}}
package secrets

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
)

// New builds the command secret, to keep secrets in the repository, encrypted.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "secret",
		Short: "Keep secrets in the repository, encrypted",
		Long: `Manages the secrets of a repository. Secrets are files below secrets/, encrypted
with age for the users and hosts in secrets/recipients. The language reads them
with secret("NAME"). Step lists, logs, the journal and the output of plan never
contain them. Plans that plan -o saves do
contain secrets; only the owner can read these files.
See docs/secrets.md.

Every command lists the files that it has written: commit them.`,
		Example: `  fettle secret init
  fettle secret set db/password < password.txt
  sudo fettle secret identity
  fettle secret add-recipient host web1 age1…`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, build := range []func(*cli.Session) *cobra.Command{
		newSecretInit, newSecretIdentity, newSecretSet, newSecretEdit, newSecretShow, newSecretList,
		newSecretAdd, newSecretDelete, newSecretRekey,
	} {
		c.AddCommand(build(s))
	}
	return c
}

func newSecretInit(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Set up secrets in a repository",
		Long: `Creates the sealing key of the repository and its first recipient: you. If you
have no identity, which is your own private key, init creates it first.`,
		Example: "  fettle secret init",
		Args:    cli.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return secretInit(s) },
	}
}

func secretInit(s *cli.Session) error {
	dir, err := secretsDir(s)
	if err != nil {
		return err
	}
	if cli.FileExists(filepath.Join(dir, vault.KeyFile)) {
		return cli.Refuse("See who can decrypt them: fettle secret list",
			"cannot set up secrets: the repository already contains secrets")
	}
	file := s.NamedIdentity()
	if file == "" {
		file = here.PersonalIdentity(s.App.Env)
	}
	if file == "" {
		return cli.Refuse("Name a file: --identity FILE", "cannot create your identity: HOME is not set")
	}
	public, made, err := here.MakeIdentity(file)
	if err != nil {
		return err
	}
	rs, err := vault.Recipients{}.With(vault.Recipient{Kind: "user", Name: userName(s.Printer), Key: public})
	if err != nil {
		return err
	}
	files, err := newVaultFiles(rs)
	if err != nil {
		return err
	}
	if made {
		s.Printf(
			"Created your identity %s. Keep a copy in a safe place: without it, or another recipient, the secrets are lost.\n",
			file)
	}
	return writeSecrets(s.Printer, dir, files, SecretDoc{Done: "The repository can store secrets now, and " +
		rs[0].Name + " can decrypt them.", Public: public})
}

// userName is the login as a recipient's name.
func userName(s *cli.Printer) string {
	name, _, _ := strings.Cut(s.User(), " ")
	return name
}

func newSecretIdentity(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "identity [FILE]",
		Short: "Show this host's public key",
		Long: `Prints the public key of an identity, and creates the identity if it does not
exist. An identity is a private key that decrypts secrets. The identity of a
host is /etc/fettle/identity below --root. Only root can read it, and it never
leaves the host. With the public key, a user who can decrypt the secrets grants
access to the host. With FILE it uses a different file: for a user.`,
		Example: "  sudo fettle secret identity\n  fettle secret identity ~/.config/fettle/identity",
		Args:    cli.Args(0, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			m, err := s.Machine()
			if err != nil {
				return err
			}
			file, what := filepath.Join(m.Root, here.IdentityFile), "host"
			if named := append(a, s.NamedIdentity()); named[0] != "" {
				file, what = named[0], "user"
			}
			return secretIdentity(s.Printer, file, what)
		},
	}
}

func secretIdentity(s *cli.Printer, file, what string) error {
	public, made, err := here.MakeIdentity(file)
	if err != nil {
		return cli.WithHint(err,
			"The identity of a host belongs to root: sudo fettle secret identity — or name a file of your own")
	}
	name := userName(s)
	if host, err := s.App.Hostname(); err == nil && what == "host" {
		name, _, _ = strings.Cut(host, ".")
	}
	doc := SecretDoc{Format: "fettle.secret/1", Done: "There is already an identity in " + file + ".", Files: []string{},
		Public: public}
	if s.JSON {
		return s.Document(doc)
	}
	fmt.Fprintln(s.App.Stdout, public)
	if made {
		fmt.Fprintf(s.App.Stderr,
			"Created %s. On a host that can decrypt the secrets, run:\n  fettle secret add-recipient %s %s %s\n", file, what,
			name, public)
	}
	return nil
}
