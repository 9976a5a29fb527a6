// Package repository has the commands that read, check, compare and write a repository. Only diff
// and validate ask a hub, where there is one.
//
//	cli.Group{Commands: []cli.NewCommand{repository.NewValidate, repository.NewDiff}}
package repository

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// starter is the repository that init writes. A leading "dot-" means a
// dot, because embedding omits such files.
//
//go:embed all:starter
var starter embed.FS

// InitDoc is the result of init as a JSON document.
type InitDoc struct {
	Format string   `json:"format"` // fettle.init/1
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`
	Commit string   `json:"commit,omitempty"` // "" where git is not installed, or the directory is in a repository already
}

// NewInit builds the command init, to create a new repository with an example.
func NewInit(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a new repository with an example",
		Long: `Writes a small repository that can be applied without changes: a target, a
README, and a module with a directory and a file below /srv/hello. If git is
installed, init commits the files. If a file already exists, init refuses and
does not overwrite it.`,
		Example: "  fettle init hello\n  cd hello && fettle plan",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			dir := s.Dir
			if len(a) == 1 {
				dir = filepath.Join(s.Dir, a[0])
				if filepath.IsAbs(a[0]) {
					dir = a[0]
				}
			}
			return initRepository(c.Context(), s, dir)
		},
	}
}

func initRepository(ctx context.Context, s *cli.Session, dir string) error {
	files, err := starterFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		if cli.FileExists(filepath.Join(dir, f.path)) {
			return cli.Refuse("Choose an empty or new directory: fettle init DIR",
				fmt.Sprintf("cannot create a repository in %q: it already contains %s", dir, f.path))
		}
	}
	doc := InitDoc{Format: "fettle.init/1", Dir: dir, Files: []string{}}
	for _, f := range files {
		if err := writeNew(filepath.Join(dir, f.path), f.text); err != nil {
			return fmt.Errorf("cannot create a repository: %w", err)
		}
		doc.Files = append(doc.Files, f.path)
	}
	rev, err := repo.Init(ctx, dir, doc.Files, "Hello from fettle")
	if err != nil && !errors.Is(err, repo.ErrNoGit) {
		return cli.WithHint(err, "The files are written. Create the git repository yourself: git init "+dir)
	}
	doc.Commit = rev.Commit
	if s.JSON {
		return s.Document(doc)
	}
	showInit(s.Printer, doc, err)
	return nil
}

func showInit(s *cli.Printer, doc InitDoc, gitErr error) {
	s.Printf("Wrote a repository to %s:\n", doc.Dir)
	for _, f := range doc.Files {
		s.Printf("  %s\n", f)
	}
	switch {
	case doc.Commit != "":
		s.Printf("Committed as %s.\n", render.Short(doc.Commit))
	case gitErr != nil:
		s.Printf("git is not installed, so nothing is committed. fettle works without git, but runs then have no revision.\n")
	default:
		s.Printf("The directory is inside a git repository: commit the files there.\n")
	}
	cd := ""
	if doc.Dir != "." {
		cd = "  cd " + doc.Dir + "\n"
	}
	s.Printf("\nNext:\n%s  fettle plan              show the changes\n  sudo fettle apply        make the changes\n  sudo fettle rollback     undo them\n\nOr try it on a directory, without root:\n  mkdir -p /tmp/hello/srv && fettle apply --root /tmp/hello\n", cd)
}

type starterFile struct{ path, text string }

func starterFiles() ([]starterFile, error) {
	var out []starterFile
	err := fs.WalkDir(starter, "starter", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := starter.ReadFile(p)
		rel := strings.ReplaceAll(strings.TrimPrefix(p, "starter/"), "dot-", ".")
		out = append(out, starterFile{rel, string(text)})
		return err
	})
	return out, err
}

// writeNew writes a file that is not there yet, with the directories above it.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
