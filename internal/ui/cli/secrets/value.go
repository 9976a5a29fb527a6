package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
)

func newSecretSet(s *cli.Session) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Set the value of a secret, from standard input or a file",
		Long: `Sets a secret: encrypts the input to the recipients of the secret. A value is
any bytes, at most 1 MiB. secret("NAME") omits a newline at the end. Set needs
no private key: any user who can read the repository can set a secret.`,
		Example: "  pwgen -s 32 1 | fettle secret set db/password\n  fettle secret set tls/key --file server.key",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			content, err := secretInput(s.Printer, file)
			if err != nil {
				return err
			}
			return secretSet(s, a[0], content)
		},
	}
	c.Flags().StringVar(&file, "file", "", "read the value from this `FILE`")
	return c
}

// secretInput never takes the value from the arguments, which every user of the
// machine can see.
func secretInput(s *cli.Printer, file string) ([]byte, error) {
	in := s.App.Stdin
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the value: %w", err)
		}
		defer f.Close()
		in = f
	} else if s.App.Terminal.In {
		fmt.Fprintln(s.App.Stderr,
			"Type or paste the value, then press Ctrl-D on an empty line. The terminal shows the value; "+
				"fettle secret edit does not.")
	}
	b, err := io.ReadAll(io.LimitReader(in, vault.Largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the value: %w", err)
	case len(b) > vault.Largest:
		return nil, errors.New(
			"cannot store the value: it is larger than 1 MiB. Encrypt the data with a key, and store the key as the secret")
	case len(bytes.TrimSpace(b)) == 0:
		return nil, cli.Refuse("Pass it on standard input, or with --file FILE", "cannot store the value: it is empty")
	}
	return b, nil
}

func secretSet(s *cli.Session, name string, content []byte) error {
	if err := secret.CheckName(name); err != nil {
		return fmt.Errorf("cannot store the secret: %w", err)
	}
	b, err := openSecrets(s)
	if err != nil {
		return err
	}
	to := b.recipients.For(name)
	text, err := vault.Seal(content, to)
	if err != nil {
		return err
	}
	if n := len(bytes.TrimSpace(content)); n < secret.Shortest {
		fmt.Fprintf(s.App.Stderr, "fettle: the value has only %d bytes, so it is not masked in the output of commands.\n", n)
	}
	return writeSecrets(s.Printer, b.dir, map[string][]byte{secret.PathOf(name): text},
		SecretDoc{Done: fmt.Sprintf("%s can be decrypted by %s.", name, whoOf(to))})
}

func whoOf(rs vault.Recipients) string {
	var names []string
	for _, r := range rs {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func newSecretShow(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print a secret",
		Long:    "Prints the value without changes. No other command prints a secret.",
		Example: "  fettle secret show db/password",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			if s.JSON {
				return cli.Refuse("Leave --json out", "cannot print a secret as JSON")
			}
			b, err := openSecrets(s)
			if err != nil {
				return err
			}
			if err := secret.CheckName(a[0]); err != nil {
				return fmt.Errorf("cannot open the secret: %w", err)
			}
			content, err := b.vault.Secret(a[0])
			if err != nil {
				return opened(err)
			}
			_, err = s.App.Stdout.Write(content)
			return err
		},
	}
}
