package secrets

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/ui/cli"
)

// SecretListDoc is the document of secret list.
type SecretListDoc struct {
	Format     string            `json:"format"` // fettle.secrets/1
	Secrets    []secretEntry     `json:"secrets"`
	Recipients []secretRecipient `json:"recipients"`
}

type secretEntry struct {
	Name string   `json:"name"`
	File string   `json:"file"`
	For  []string `json:"for"`   // names of recipients
	Open bool     `json:"opens"` // with the identity at hand
}

type secretRecipient struct {
	Kind string   `json:"kind"` // user or host
	Name string   `json:"name"`
	Key  string   `json:"key"`
	Only []string `json:"only,omitempty"`
}

func newSecretList(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the secrets and their readers",
		Example: "  fettle secret list",
		Args:    cli.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return secretList(s) },
	}
}

func secretList(s *cli.Session) error {
	b, err := openSecrets(s)
	if err != nil {
		return err
	}
	names, err := b.names()
	if err != nil {
		return fmt.Errorf("cannot list the secrets: %w", err)
	}
	doc := SecretListDoc{Format: "fettle.secrets/1", Secrets: []secretEntry{}, Recipients: []secretRecipient{}}
	for _, r := range b.recipients {
		doc.Recipients = append(doc.Recipients, secretRecipient{r.Kind, r.Name, r.Key, r.Only})
	}
	for _, name := range names {
		e := secretEntry{Name: name, File: secret.PathOf(name), For: []string{}}
		for _, r := range b.recipients.For(name) {
			e.For = append(e.For, r.Name)
		}
		_, err := b.vault.Secret(name)
		e.Open = err == nil
		doc.Secrets = append(doc.Secrets, e)
	}
	if s.JSON {
		return s.Document(doc)
	}
	showSecrets(s.Printer, doc)
	return nil
}

func showSecrets(s *cli.Printer, doc SecretListDoc) {
	for _, e := range doc.Secrets {
		closed := ""
		if !e.Open {
			closed = "   (this identity cannot decrypt it)"
		}
		s.Printf("%s  for %s%s\n", e.Name, strings.Join(e.For, ", "), closed)
	}
	if len(doc.Secrets) == 0 {
		s.Printf("There are no secrets yet. Create one: fettle secret set NAME\n")
	}
	s.Printf("\nRecipients:\n")
	for _, r := range doc.Recipients {
		only := ""
		if len(r.Only) > 0 {
			only = "  only " + strings.Join(r.Only, " ")
		}
		s.Printf("  %-6s %s  %s%s\n", r.Kind, r.Name, r.Key, only)
	}
}
