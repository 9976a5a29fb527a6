package repository

import (
	"fmt"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// stepFile is a list that was read from a file, with its content.
type stepFile struct {
	list  step.List
	blobs map[string]kind.Blob
	close func()
}

// readSteps reads and resolves a step file. Its directory is the boundary: no
// path and no symbolic link leads out of it.
func readSteps(s *cli.Session, path string) (*stepFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("cannot read the step file: %w", err), "Name a file with one step per line")
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory of %q: %w", path, err)
	}
	list, ds := step.Parse(path, text)
	directory := &directorySource{Directory: step.Directory{FS: root.FS()}, blobs: map[string]kind.Blob{}}
	if !ds.HasErrors() {
		var more diag.List
		list, more = step.Resolve(list, directory)
		ds = append(ds, more...)
	}
	if err := ds.Err(); err != nil {
		_ = root.Close()
		return nil, err
	}
	s.Warnings(ds)
	return &stepFile{sourced(list), directory.blobs, func() { _ = root.Close() }}, nil
}

// sourced gives each step the place of its line as its source, unless a
// generator has given it one.
func sourced(l step.List) step.List {
	for i := range l {
		if l[i].Source == "" && l[i].Range.Start.Line > 0 {
			l[i].Source = fmt.Sprintf("%s:%d", l[i].Range.File, l[i].Range.Start.Line)
		}
	}
	return l
}

// directorySource is step.Directory that remembers where each digest was found.
type directorySource struct {
	step.Directory
	blobs map[string]kind.Blob
}

// Digest reads a file and notes it as a blob.
func (f *directorySource) Digest(path string) (string, int64, error) {
	d, n, err := f.Directory.Digest(path)
	if err == nil {
		f.blobs[d] = kind.Blob{Digest: d, Size: n, Tree: kind.FileTree(f.FS), Path: path}
	}
	return d, n, err
}

// request is the step file as a wanted list.
func (f *stepFile) request(s *cli.Session) executor.Request {
	return executor.Request{Target: s.Target, Repository: repo.Identity{Name: "step files"}, Adopt: s.Adopt,
		List: f.list, Blobs: f.blobs, Repair: true}
}

// withSteps reads a step file and refuses what lint finds.
func withSteps(s *cli.Session, path string, fn func(executor.Request) error) error {
	f, err := readSteps(s, path)
	if err != nil {
		return err
	}
	defer f.close()
	if err := lint(s.Printer, f.list).Err(); err != nil {
		return err
	}
	return fn(f.request(s))
}
