package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/render"
)

// NewSteps builds the command steps, to check, compare and apply step files.
func NewSteps(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "steps",
		Short: "Check, compare and apply step files",
		Long: `Checks, compares and applies step files. A step file is a list of atomic steps,
one in each line. Sources of COPY and files of INCLUDE are read from the
directory of the step file, or below it.

  MKDIR /srv/hello mode=0755
  COPY index.html /srv/hello/index.html`,
		Args: cli.Args(1, 0),
	}
	c.AddCommand(newStepsLint(s), newStepsFmt(s), newStepsDiff(s), newStepsPlan(s), newStepsApply(s))
	c.RunE = func(c *cobra.Command, a []string) error { return cli.UnknownCommand(c, a) }
	return c
}

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

// LintDoc is the result of steps lint as a JSON document.
type LintDoc struct {
	Format      string               `json:"format"` // fettle.lint/1
	OK          bool                 `json:"ok"`
	Steps       int                  `json:"steps"`
	List        string               `json:"list,omitempty"` // digest
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

func newStepsLint(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "lint FILE",
		Short:   "Check a step file",
		Example: "  fettle steps lint web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			f, err := readSteps(s, a[0])
			if err != nil {
				return err
			}
			defer f.close()
			ds := lint(s.Printer, f.list)
			if s.JSON {
				doc := LintDoc{Format: "fettle.lint/1", OK: !ds.HasErrors(), Steps: len(f.list), List: f.list.Digest(),
					Diagnostics: cli.DiagnosticsJSON(ds)}
				if err := s.Document(doc); err != nil {
					return err
				}
				return cli.Reported(ds.Err())
			}
			if err := ds.Err(); err != nil {
				return err
			}
			s.Warnings(ds)
			s.Printf("ok  %s  %s\n", a[0], render.Count(len(f.list), "step"))
			return nil
		},
	}
}

func newStepsFmt(s *cli.Session) *cobra.Command {
	write := false
	c := &cobra.Command{
		Use:     "fmt FILE",
		Short:   "Print a step file in canonical form",
		Long:    "Prints the steps in canonical form: keys in their order, quotes only if they are\nnecessary. Sources and includes are not changed; comments are omitted.",
		Example: "  fettle steps fmt web1.steps\n  fettle steps fmt -w web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			text, err := os.ReadFile(a[0])
			if err != nil {
				return fmt.Errorf("cannot read the step file: %w", err)
			}
			list, ds := step.Parse(a[0], text)
			if err := ds.Err(); err != nil {
				return err
			}
			var b strings.Builder
			if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
				return err
			}
			if !write {
				s.Printf("%s", b.String())
				return nil
			}
			if b.String() == string(text) {
				return nil
			}
			return replaceFile(a[0], []byte(b.String()))
		},
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write the result to the file instead of printing it")
	return c
}

func newStepsDiff(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Show the steps that differ between two step files",
		Long:    "Prints the removed (-) and added (+) steps, as in the files. A source whose\ncontent changed is a changed step. Exits with 2 if there are differences.",
		Example: "  fettle steps diff old.steps new.steps",
		Args:    cli.Args(2, 2),
		RunE: func(_ *cobra.Command, a []string) error {
			old, err := readSteps(s, a[0])
			if err != nil {
				return err
			}
			defer old.close()
			new, err := readSteps(s, a[1])
			if err != nil {
				return err
			}
			defer new.close()
			doc := DiffDoc{Format: "fettle.diff/1", Old: a[0], New: a[1], Targets: []targetDiff{}}
			if lines := diffLinesOf(old.list, new.list); lines != nil {
				doc.Targets = append(doc.Targets, targetDiff{Lines: lines})
			}
			return showDiff(s.Printer, doc, false)
		},
	}
}

func newStepsPlan(s *cli.Session) *cobra.Command {
	var f hostcmd.PlanFlags
	c := &cobra.Command{
		Use:     "plan FILE",
		Short:   "Show the changes that a step file would make",
		Example: "  fettle steps plan web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return withSteps(s, a[0], func(req executor.Request) error {
				req.Repair, req.Diffs, req.Verify = !f.NoRepair, f.Wants(s.Printer), f.Verify
				req.Guards = f.Guards()
				return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
					return hostcmd.ShowPlan(c.Context(), s,
						x, req, f)
				})
			})
		},
	}
	f.Flags(c)
	s.AdoptFlag(c)
	cli.OutputFlag(c, &f.Out, "save the plan to a `FILE`")
	c.Flags().BoolVar(&f.NoRepair, "no-repair", false, "report drift instead of repairing it")
	return c
}

func newStepsApply(s *cli.Session) *cobra.Command {
	var f hostcmd.RunFlags
	var cross bool
	c := &cobra.Command{
		Use:     "apply FILE",
		Short:   "Apply a step file",
		Long:    "Puts the host in the state that a step file describes. Steps of the previous\nlist that are not in this list are undone. In all other respects it works\nlike fettle apply.",
		Example: "  sudo fettle steps apply web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			o, err := f.Options(s)
			if err != nil {
				return err
			}
			return withSteps(s, a[0], func(req executor.Request) error {
				req.Diffs, req.Verify, o.CrossIrreversible = f.Wants(s.Printer), f.Verify, cross
				return hostcmd.ApplyRequest(c.Context(), s, req, "", f, o)
			})
		},
	}
	f.Flags(c)
	f.Arms(c)
	s.AdoptFlag(c)
	s.FrozenFlag(c)
	cli.CrossIrreversibleFlag(c, &cross, "allow changes that cannot be undone, such as a purge of a package")
	return c
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
