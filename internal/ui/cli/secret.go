package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/secret/vault"
)

// secretDoc is the document of commands that change secrets.
type secretDoc struct {
	Format string   `json:"format"` // fettle.secret/1
	Done   string   `json:"done"`   // in a sentence
	Files  []string `json:"files"`  // written, to be committed
	Public string   `json:"public,omitempty"`
	// Rotate are the secrets whose old values a deleted recipient may still have.
	Rotate []string `json:"rotate,omitempty"`
}

func newSecret(s *session) *cobra.Command {
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
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, build := range []func(*session) *cobra.Command{
		newSecretInit, newSecretIdentity, newSecretSet, newSecretEdit, newSecretShow, newSecretList,
		newSecretAdd, newSecretDelete, newSecretRekey,
	} {
		c.AddCommand(build(s))
	}
	return c
}

func newSecretInit(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Set up secrets in a repository",
		Long: `Creates the sealing key of the repository and its first recipient: you. If you
have no identity, which is your own private key, init creates it first.`,
		Example: "  fettle secret init",
		Args:    args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return secretInit(s) },
	}
}

func secretInit(s *session) error {
	dir, err := secretsDir(s)
	if err != nil {
		return err
	}
	if fileExists(filepath.Join(dir, vault.KeyFile)) {
		return refuse("See who can decrypt them: fettle secret list",
			"cannot set up secrets: the repository already contains secrets")
	}
	file := s.namedIdentity()
	if file == "" {
		file = here.PersonalIdentity(s.app.Env)
	}
	if file == "" {
		return refuse("Name a file: --identity FILE", "cannot create your identity: HOME is not set")
	}
	public, made, err := here.MakeIdentity(file)
	if err != nil {
		return err
	}
	rs, err := vault.Recipients{}.With(vault.Recipient{Kind: "user", Name: userName(s.printer), Key: public})
	if err != nil {
		return err
	}
	files, err := newVaultFiles(rs)
	if err != nil {
		return err
	}
	if made {
		s.printf(
			"Created your identity %s. Keep a copy in a safe place: without it, or another recipient, the secrets are lost.\n",
			file)
	}
	return writeSecrets(s.printer, dir, files, secretDoc{Done: "The repository can store secrets now, and " +
		rs[0].Name + " can decrypt them.", Public: public})
}

// userName is the login as a recipient's name.
func userName(s *printer) string {
	name, _, _ := strings.Cut(s.user(), " ")
	return name
}

func newSecretIdentity(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "identity [FILE]",
		Short: "Show this host's public key",
		Long: `Prints the public key of an identity, and creates the identity if it does not
exist. An identity is a private key that decrypts secrets. The identity of a
host is /etc/fettle/identity below --root. Only root can read it, and it never
leaves the host. With the public key, a user who can decrypt the secrets grants
access to the host. With FILE it uses a different file: for a user.`,
		Example: "  sudo fettle secret identity\n  fettle secret identity ~/.config/fettle/identity",
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			m, err := s.machine()
			if err != nil {
				return err
			}
			file, what := filepath.Join(m.Root, here.IdentityFile), "host"
			if named := append(a, s.namedIdentity()); named[0] != "" {
				file, what = named[0], "user"
			}
			return secretIdentity(s.printer, file, what)
		},
	}
}

func secretIdentity(s *printer, file, what string) error {
	public, made, err := here.MakeIdentity(file)
	if err != nil {
		return withHint(err,
			"The identity of a host belongs to root: sudo fettle secret identity — or name a file of your own")
	}
	name := userName(s)
	if host, err := s.app.Hostname(); err == nil && what == "host" {
		name, _, _ = strings.Cut(host, ".")
	}
	doc := secretDoc{Format: "fettle.secret/1", Done: "There is already an identity in " + file + ".", Files: []string{},
		Public: public}
	if s.json {
		return s.document(doc)
	}
	fmt.Fprintln(s.app.Stdout, public)
	if made {
		fmt.Fprintf(s.app.Stderr,
			"Created %s. On a host that can decrypt the secrets, run:\n  fettle secret add-recipient %s %s %s\n", file, what,
			name, public)
	}
	return nil
}
