package repository

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/diag"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/ui/cli"
)

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
