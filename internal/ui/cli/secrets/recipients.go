package secrets

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
)

func newSecretAdd(s *cli.Session) *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use:   "add-recipient user|host|hub NAME KEY",
		Short: "Grant access to the secrets",
		Long: `Adds a user, host or hub with a public key, and encrypts the secrets again. The
key begins with age1 or is the line of an id_ed25519.pub. You must be able to
decrypt the secrets. The name of a host is the name of its target. With --only,
the recipient can decrypt only secrets whose names match a pattern.

A hub needs --only. Hosts cannot decrypt secrets that match a pattern of a hub:
these are for tasks that hubs do.`,
		Example: "  fettle secret add-recipient host web1 age1… --only 'web/*'\n" +
			"  fettle secret add-recipient user kim \"$(cat kim.pub)\"\n" +
			"  fettle secret add-recipient hub hub1 age1… --only 'hubs/*'",
		Args: cli.Args(3, 3),
		RunE: func(_ *cobra.Command, a []string) error {
			return secretRecipients(s, SecretDoc{Done: a[1] + " can decrypt them now."},
				func(rs vault.Recipients) (vault.Recipients, error) {
					return rs.With(vault.Recipient{Kind: a[0], Name: a[1], Key: a[2], Only: only})
				})
		},
	}
	c.Flags().StringSliceVar(&only, "only", nil, "grant only secrets whose names match this `PATTERN`; may be repeated")
	return c
}

func newSecretDelete(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "delete-recipient NAME",
		Short: "Withdraw access to the secrets",
		Long: `Deletes a recipient, encrypts the secrets again without it, and lists them. The
recipient can still decrypt secrets in the history of the repository. Therefore
change the listed secrets where they are used.`,
		Example: "  fettle secret delete-recipient kim",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			doc := SecretDoc{Done: a[0] + " can no longer decrypt new secret values."}
			b, err := openSecrets(s)
			if err != nil {
				return err
			}
			doc.Rotate, err = b.openedBy(a[0])
			if err != nil {
				return err
			}
			return secretRecipients(s, doc, func(rs vault.Recipients) (vault.Recipients, error) { return rs.Without(a[0]) })
		},
	}
}

// openedBy are the secrets that a recipient can open.
func (b *secretBox) openedBy(who string) ([]string, error) {
	names, err := b.names()
	if err != nil {
		return nil, fmt.Errorf("cannot list the secrets: %w", err)
	}
	var out []string
	for _, name := range names {
		for _, r := range b.recipients.For(name) {
			if r.Name == who {
				out = append(out, name)
				break
			}
		}
	}
	return out, nil
}

func newSecretRekey(s *cli.Session) *cobra.Command {
	var key bool
	c := &cobra.Command{
		Use:   "rekey",
		Short: "Encrypt all secrets again",
		Long: `Encrypts every secret to the current recipients in secrets/recipients, after
this file was edited or merged. With --sealing-key it also creates a new key for
secrets in step lists and on hosts: use this if the old key was exposed. The
next run then writes every file with a secret again. Older content that hosts
have stored stays as it is.`,
		Example: "  fettle secret rekey",
		Args:    cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b, err := openSecrets(s)
			if err != nil {
				return err
			}
			files, err := b.rekeyed(b.recipients, key)
			if err != nil {
				return err
			}
			return writeSecrets(s.Printer, b.dir, files, SecretDoc{Done: "All secrets are encrypted again."})
		},
	}
	c.Flags().BoolVar(&key, "sealing-key", false, "create a new sealing key, too")
	return c
}

// secretRecipients changes who can open the secrets.
func secretRecipients(s *cli.Session, doc SecretDoc, change func(vault.Recipients) (vault.Recipients, error)) error {
	b, err := openSecrets(s)
	if err != nil {
		return err
	}
	rs, err := change(b.recipients)
	if err != nil {
		return err
	}
	files, err := b.rekeyed(rs, false)
	if err != nil {
		return err
	}
	return writeSecrets(s.Printer, b.dir, files, doc)
}
