package secrets

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/ui/cli"
)

// writeSecrets writes files of the repository and tells what to commit. Each is
// replaced whole.
func writeSecrets(s *cli.Printer, dir string, files map[string][]byte, doc SecretDoc) error {
	doc.Format, doc.Files = "fettle.secret/1", slices.Sorted(maps.Keys(files))
	for _, p := range doc.Files {
		if err := writeWhole(filepath.Join(dir, p), files[p]); err != nil {
			return fmt.Errorf("cannot write %s: %w", p, err)
		}
	}
	if s.JSON {
		return s.Document(doc)
	}
	s.Printf("%s\n", doc.Done)
	if len(doc.Files) > 0 {
		s.Printf("Commit: git add %s && git commit\n", secret.Directory)
	}
	for _, name := range doc.Rotate {
		s.Printf("Set a new value, because the removed recipient may know the old one: fettle secret set %s\n", name)
	}
	return nil
}

// writeWhole makes path hold text, durably and at once.
func writeWhole(path string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".fettle-secret-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// SecretDoc is the document of commands that change secrets.
type SecretDoc struct {
	Format string   `json:"format"` // fettle.secret/1
	Done   string   `json:"done"`   // in a sentence
	Files  []string `json:"files"`  // written, to be committed
	Public string   `json:"public,omitempty"`
	// Rotate are the secrets whose old values a deleted recipient may still have.
	Rotate []string `json:"rotate,omitempty"`
}
