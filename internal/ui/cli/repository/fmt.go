package repository

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/diag"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/ui/cli"
)

// FmtDoc is the result of fmt as a JSON document.
type FmtDoc struct {
	Format  string   `json:"format"`  // fettle.fmt/1
	Changed []string `json:"changed"` // files that were, or are, not in canonical form
}

// NewFmt builds the command fmt, to format source files.
func NewFmt(s *cli.Session) *cobra.Command {
	check := false
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format source files",
		Long: `Formats the .hcl files of the repository, or of the given paths, and prints the
names of changed files. Comments and meaning are preserved. Files in the other
forms of the language are not changed. - formats standard input.

With --check it writes nothing, and exits with 2 if a file is not in canonical
form.`,
		Example: "  fettle fmt\n  fettle fmt --check\n  fettle fmt - < module.hcl",
		Args:    cli.Args(0, -1),
		RunE: func(_ *cobra.Command, a []string) error {
			if len(a) == 1 && a[0] == "-" {
				return formatStdin(s.Printer)
			}
			if len(a) == 0 {
				a = []string{s.Dir}
			}
			return formatSources(s.Printer, a, check)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "only list the files that would change")
	return c
}

// formatStdin prints the canonical form of its input.
func formatStdin(s *cli.Printer) error {
	in, err := io.ReadAll(s.App.Stdin)
	if err != nil {
		return fmt.Errorf("cannot read standard input: %w", err)
	}
	out, ds := s.App.Language.Format("<stdin>", in)
	if err := ds.Err(); err != nil {
		return err
	}
	_, err = s.App.Stdout.Write(out)
	return err
}

func formatSources(s *cli.Printer, paths []string, check bool) error {
	doc := FmtDoc{Format: "fettle.fmt/1", Changed: []string{}}
	var bad diag.List
	for _, p := range paths {
		files, err := sourceFiles(p)
		if err != nil {
			return err
		}
		for _, file := range files {
			changed, ds, err := formatFile(s, file, check)
			if err != nil {
				return err
			}
			bad = append(bad, ds...)
			if changed {
				doc.Changed = append(doc.Changed, file)
				s.Printf("%s\n", file)
			}
		}
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	}
	if check && len(doc.Changed) > 0 {
		return cli.ErrChanges
	}
	return nil
}

// sourceFiles returns the files of the language at or below path, without names that begin with a dot.
func sourceFiles(path string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != path && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case langsource.IsSource(d.Name()) && !strings.HasSuffix(p, ".hcl"): // another form, with a layout of its own
		case d.Type().IsRegular() && (strings.HasSuffix(p, ".hcl") || p == path):
			out = append(out, p)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Refuse("Name an existing file or directory, or none to format the repository",
			fmt.Sprintf("cannot format %q: there is no such file or directory", path))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot format %q: %w", path, err)
	}
	return out, nil
}

func formatFile(s *cli.Printer, path string, check bool) (changed bool, ds diag.List, err error) {
	in, err := os.ReadFile(path)
	if err != nil {
		return false, nil, fmt.Errorf("cannot format: %w", err)
	}
	out, ds := s.App.Language.Format(path, in)
	if ds.HasErrors() || bytes.Equal(in, out) {
		return false, ds, nil
	}
	if check {
		return true, nil, nil
	}
	return true, nil, replaceFile(path, out)
}

// replaceFile exchanges a file of the user's for new content, whole, keeping
// its mode.
func replaceFile(path string, content []byte) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".fettle-fmt-*")
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(st.Mode().Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return nil
}
