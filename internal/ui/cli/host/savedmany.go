package host

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/savedplan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// The plans of many targets are saved in a directory: one file for each, named for its
// target, and each is a saved plan like any other.
const savedSuffix = ".plan"

// planDirectory is a new directory for plans, which appears whole at its path or not at all.
type planDirectory struct {
	path, temp, version string

	mu    sync.Mutex
	saved int
}

func newPlanDirectory(path, version string) (*planDirectory, error) {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil, cli.Refuse("Name a directory that does not exist yet: -o DIR",
			fmt.Sprintf("cannot save the plans of many targets to %q: it exists", path))
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".fettle-plans-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("cannot save the plans: %w", err)
	}
	return &planDirectory{path: path, temp: temp, version: version}, nil
}

// save adds the plan of one target. It may be called at once by many.
func (d *planDirectory) save(far bool, req executor.Request, p *plan.Plan) error {
	if err := savable(p); err != nil {
		return err
	}
	if err := savedplan.Write(filepath.Join(d.temp, url.PathEscape(req.Target)+savedSuffix),
		savedplan.Origin{Version: d.version, Far: far}, req, p); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved++
	return nil
}

// keep gives the directory its name, unless no plan was saved.
func (d *planDirectory) keep() error {
	if d.saved == 0 {
		return os.Remove(d.temp)
	}
	if err := os.Rename(d.temp, d.path); err != nil {
		return fmt.Errorf("cannot save the plans: %w", err)
	}
	return nil
}

// drop removes what has not got its name.
func (d *planDirectory) drop() { _ = os.RemoveAll(d.temp) }

// planAndSave plans on every target, and saves those plans of which there are any.
func planAndSave(s *cli.Session, c *cobra.Command, f PlanFlags) error {
	directory, err := newPlanDirectory(f.Out, s.App.Version)
	if err != nil {
		return err
	}
	defer directory.drop()
	left, err := planEach(s, c, f, directory.save)
	if kept := directory.keep(); kept != nil {
		return kept
	}
	if s.JSON || directory.saved == 0 {
		return err
	}
	s.Printf("\nSaved %s. To apply exactly these plans: fettle apply %s\n", render.Count(directory.saved, "plan"),
		directory.path)
	if left > 0 {
		s.Printf("Without a saved plan, and therefore unchanged: %s\n", render.Count(left, "target"))
	}
	return err
}

// openedPlans are the plans of a directory, by target.
type openedPlans struct {
	path  string
	plans map[string]*savedplan.Plan
}

// openPlans reads a plan, or all plans of a directory, before anything is done by one of
// them. The caller closes it.
func openPlans(path string) (*openedPlans, error) {
	all := &openedPlans{path: path, plans: map[string]*savedplan.Plan{}}
	files, err := planFiles(path)
	for _, file := range files {
		if err = all.open(file); err != nil {
			break
		}
	}
	if err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// planFiles are the files of plans at a path, sorted.
func planFiles(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}, nil // which file it names
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		err = errors.New("the directory is empty")
	}
	if err != nil {
		return nil, notSaved(path, err)
	}
	var files []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), savedSuffix) {
			return nil, notSaved(path, fmt.Errorf("it contains %.80q, which is not the plan of a target", e.Name()))
		}
		files = append(files, filepath.Join(path, e.Name()))
	}
	return files, nil
}

// loadPlan opens a saved plan, and adds the next command to an error.
func loadPlan(path string) (*savedplan.Plan, error) {
	p, err := savedplan.Open(path)
	if err != nil {
		return nil, notSaved(path, err)
	}
	return p, nil
}

func notSaved(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return cli.WithHint(fmt.Errorf("cannot read the saved plan %q: there is no such file", path),
			"Create it: fettle plan -o "+path)
	}
	return cli.WithHint(fmt.Errorf("cannot read the saved plan %q: %w", path, err),
		"Create it again: fettle plan -o "+path)
}

func (a *openedPlans) open(file string) error {
	p, err := loadPlan(file)
	if err != nil {
		return err
	}
	name := p.Request.Target
	if _, twice := a.plans[name]; twice || name == "" {
		p.Close()
		return notSaved(a.path, fmt.Errorf("%.80q is not the plan of a target, or the second plan of the same target",
			filepath.Base(file)))
	}
	a.plans[name] = p
	return nil
}

func (a *openedPlans) close() {
	for _, p := range a.plans {
		p.Close()
	}
}

// words select all targets that have a plan.
func (a *openedPlans) words() []string {
	var out []string
	for _, name := range cli.SortedNames(a.plans) {
		out = append(out, selection.Quote(name))
	}
	return out
}

// has refuses targets without a plan, before anything is done on others.
func (a *openedPlans) has(names []string) error {
	for _, name := range names {
		if _, ok := a.plans[name]; !ok {
			return cli.Refuse("Create a plan for it: fettle plan -t "+name+" -o FILE\nOr exclude it: -t '…,!"+name+"'",
				fmt.Sprintf("cannot apply %q to %s: there is no plan for it", a.path, name))
		}
	}
	return nil
}

// applySavedMany applies exactly the plans of a directory, each on its target, or only on the targets
// that -t selects.
func applySavedMany(ctx context.Context, s *cli.Session, f applyFlags, path string) error {
	o, err := f.options(s)
	if err != nil {
		return err
	}
	saved, err := openPlans(path)
	if err != nil {
		return err
	}
	defer saved.close()
	if len(s.Words) == 0 {
		s.Words = saved.words()
	}
	s.Target = ""
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	if err := saved.has(cr.Names); err != nil {
		return err
	}
	o.Exact = true
	return applyPlans(ctx, cr, f.RunFlags, o, func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen,
		error) {
		was := saved.plans[m.Target]
		if was.Far && m.Remote == nil && !cli.IsThisHost(s.Printer, m.Target) {
			return nil, round.Unreachable(cli.NoConnection(m.Target))
		}
		req := was.Request
		req.Diffs, req.Verify = f.Wants(cr.Session.Printer), req.Verify || f.Verify
		p, err := x.Plan(ctx, req)
		if err == nil && p.Digest() != was.Digest {
			err = stale()
		}
		return &seen{request: req, plan: p}, err
	})
}

// stale refuses a saved plan that would no longer have the planned result.
func stale() error {
	return fmt.Errorf("%w: this host or its applied state has changed since", executor.ErrStale)
}
