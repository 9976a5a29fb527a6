package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/ui/cli"
)

// updateLists writes the files of those tests whose list differs, and takes the
// difference out of their verdicts.
func updateLists(s *cli.Session, verdicts []compile.Verdict) ([]string, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot update the lists: %w", err)
	}
	defer root.Close()
	var written []string
	for i, v := range verdicts {
		old, err := root.ReadFile(v.Golden)
		if v.Golden == "" || err == nil && string(old) == v.List {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return written, fmt.Errorf("cannot update %s: %w", v.Golden, err)
		}
		if err := root.WriteFile(v.Golden, []byte(v.List), 0o644); err != nil {
			return written, fmt.Errorf("cannot update %s: %w", v.Golden, err)
		}
		written = append(written, path.Clean(v.Golden))
		verdicts[i].Failures = v.Others()
	}
	return written, nil
}
