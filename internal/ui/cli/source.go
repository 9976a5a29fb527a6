package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	langsource "fettle.dev/fettle/internal/lang/source"

	"fettle.dev/fettle/internal/repo"
)

// source is an open repository at one revision.
type source struct {
	repo   *repo.Repo
	tree   repo.Tree
	rev    repo.Revision
	prefix string // of tree inside of the git repository, "." for its top
	// enrolled means that the tree also has the targets of a fleet.
	enrolled bool
	// none is the reason why there is no repository. Then the tree has only the targets of a fleet,
	// and repo is nil.
	none error

	identify sync.Once // id and idErr
	id       repo.Identity
	idErr    error
}

// about names the repository in a query.
func (src *source) about() compile.About { return compile.About{Tree: src.tree} }

// close frees what is read from.
func (src *source) close() {
	if src.repo != nil {
		_ = src.repo.Close()
	}
}

// committed reports whether the tree is exactly a commit.
func (src *source) committed() bool { return src.rev.Commit != "" && !src.rev.Dirty && !src.enrolled }

// hasMain tells whether a directory is a repository of fettle: it has a main file
// in one of the forms of the language.
func hasMain(dir string, exists func(string) bool) bool {
	return slices.ContainsFunc(langsource.MainFiles(), func(name string) bool { return exists(path.Join(dir, name)) })
}

// openSource opens the repository at a revision; "" is the files as they are.
// The caller closes its repo.
func (s *session) openSource(ctx context.Context, rev string) (*source, error) {
	r, err := repo.OpenWith(ctx, s.dir, s.limits())
	if err != nil {
		return nil, err
	}
	if limit := s.app.Language.Limit; limit != nil {
		limit(s.compileTimeout, s.compileMemory)
	}
	if secrets := s.app.Language.Secrets; secrets != nil {
		secrets(s.identities)
	}
	if r, err = plainDirectory(ctx, s, r); err != nil {
		return nil, err
	}
	var src *source
	err = remembering(s, r, rev, func() error {
		src, err = readSource(ctx, s.printer, r, rev)
		return err
	})
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return src, nil
}

func (f *repositoryFlags) limits() repo.Limits {
	return repo.Limits{Files: f.maxFiles, FileSize: f.maxFileSize, Silence: f.compileTimeout}
}

// plainDirectory moves a repository without git to the parent directory with the main file. Without a
// main file, it refuses before it reads any other file: the directory could be a home directory.
func plainDirectory(ctx context.Context, s *session, r *repo.Repo) (*repo.Repo, error) {
	if r.IsGit() {
		return r, nil
	}
	dir := r.Top()
	for !hasMain(dir, fileExists) {
		if dir == filepath.Dir(dir) {
			_ = r.Close()
			return nil, noMain(r.Top())
		}
		dir = filepath.Dir(dir)
	}
	if dir == r.Top() {
		return r, nil
	}
	_ = r.Close()
	return repo.OpenWith(ctx, dir, s.limits())
}

func noMain(dir string) error {
	err := fmt.Errorf("cannot find a repository: there is no %s in %q or above",
		strings.Join(langsource.MainFiles(), ", "), dir)
	return withHint(&noRepository{err}, "Name the directory of the repository with -C DIR, or create one: fettle init DIR")
}

// readSource returns a cached tree, or reads it. Only in the second case it starts the compiler,
// because the results for a cached tree can be cached too.
func readSource(ctx context.Context, s *printer, r *repo.Repo, rev string) (*source, error) {
	tree, info, known := r.Recall(rev)
	if prepare := s.app.Language.Prepare; !known && prepare != nil {
		prepare()
	}
	var err error
	switch {
	case known:
	case rev == "":
		tree, info, err = r.WorkTree(ctx)
	default:
		tree, info, err = r.At(ctx, rev)
	}
	if err != nil {
		return nil, err
	}
	src := &source{repo: r, tree: tree, rev: info}
	src.prefix, err = findMain(src.tree, r.Prefix())
	if err != nil {
		return nil, noMain(path.Join(r.Top(), r.Prefix()))
	}
	if src.prefix != "." {
		src.tree = repo.Sub(src.tree, src.prefix)
	}
	return src, nil
}

// findMain looks for the main file in dir and upwards.
func findMain(t repo.Tree, dir string) (string, error) {
	for {
		if hasMain(dir, func(p string) bool { _, err := t.Stat(p); return err == nil }) {
			return dir, nil
		}
		if dir == "." {
			return "", fs.ErrNotExist
		}
		dir = path.Dir(dir)
	}
}

// chooseTarget returns the target: the named one, otherwise this host if it is declared, otherwise ""
// for the only target.
func (s *session) chooseTarget(src *source) (string, error) {
	names, err := s.targets(src)
	switch {
	case err != nil && s.target != "":
		return s.target, nil // compiling tells what is wrong, and which targets there are
	case err != nil:
		return "", err
	case s.target != "" && !slices.Contains(names, s.target):
		return "", unknownTarget(s.target, names)
	case s.target != "":
		return s.target, nil
	}
	if len(names) == 1 {
		return names[0], nil
	}
	if host, err := s.app.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		for _, name := range []string{host, short} {
			if slices.Contains(names, name) {
				return name, nil
			}
		}
	}
	if len(names) == 0 {
		return "", refuse(`Declare one in fettle.hcl: target "NAME" { modules = ["base"] }`,
			"cannot choose a target: the repository declares none")
	}
	return "", refuse("Name one: -t "+names[0]+" ("+strings.Join(names, ", ")+")",
		"cannot choose a target: the repository declares several and none has this host's name")
}

// compileTarget makes the list of one target.
func compileTarget(ctx context.Context, s *session, tree repo.Tree, target string) (compile.Result, error) {
	in, err := s.input(ctx, tree, target)
	if err != nil {
		return compile.Result{}, err
	}
	return compileInput(s, in)
}

// compileInput compiles and shows warnings. Every command that compiles calls it.
func compileInput(s *session, in compile.Input) (compile.Result, error) {
	res, ds := s.app.Language.compile(in)
	if err := ds.Err(); err != nil {
		return compile.Result{}, err
	}
	s.warnings(ds)
	return res, nil
}

func (s *session) input(ctx context.Context, tree repo.Tree, target string) (compile.Input, error) {
	vars, err := s.variables()
	if err != nil {
		return compile.Input{}, err
	}
	m, err := s.machine()
	if err != nil {
		return compile.Input{}, err
	}
	in := compile.Input{Tree: tree, Target: target, Vars: vars}
	if s.remote != nil {
		in.Facts = s.remote.Facts()
		return in, nil
	}
	in.Facts, err = s.app.Facts(ctx, m)
	return in, err
}

func (s *session) warnings(ds diag.List) {
	s.warned += len(ds)
	if len(ds) > 0 && !s.json {
		s.errStyle().Diagnostics(s.app.Stderr, ds)
	}
}

// wanted compiles the target at the requested revision. closing closes the repository, which provides
// the content of blobs until then. A list for a machine has no placeholders of secrets.
func (s *session) wanted(ctx context.Context, forMachine bool) (req executor.Request, closing func(), err error) {
	src, err := s.openChosen(ctx)
	if err == nil {
		err = src.none
	}
	if err != nil {
		return executor.Request{}, nil, err
	}
	closing = src.close
	target, err := s.chooseTarget(src)
	if err == nil && forMachine {
		err = s.connectTarget(ctx, src, target)
	}
	if err == nil {
		var in compile.Input
		if in, err = s.input(ctx, src.tree, target); err == nil {
			in.NeedSecrets = forMachine
			if req, err = s.listOf(src, in); err == nil {
				return req, closing, nil
			}
		}
	}
	closing()
	return executor.Request{}, nil, err
}

// errNoRepository marks that there is no repository here.
var errNoRepository = errors.New("there is no repository")

// noRepository is errNoRepository with a message about the missing files.
type noRepository struct{ error }

func (n *noRepository) Is(target error) bool { return target == errNoRepository }
