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

// Source is an open repository at one revision.
type Source struct {
	Repo   *repo.Repo
	Tree   repo.Tree
	Rev    repo.Revision
	Prefix string // of tree inside of the git repository, "." for its top
	// Enrolled means that the tree also has the targets of a fleet.
	Enrolled bool
	// None is the reason why there is no repository. Then the tree has only the targets of a fleet,
	// and repo is nil.
	None error

	identify sync.Once // id and idErr
	id       repo.Identity
	idErr    error
}

// About names the repository in a query.
func (src *Source) About() compile.About { return compile.About{Tree: src.Tree} }

// Close frees what is read from.
func (src *Source) Close() {
	if src.Repo != nil {
		_ = src.Repo.Close()
	}
}

// committed reports whether the tree is exactly a commit.
func (src *Source) committed() bool { return src.Rev.Commit != "" && !src.Rev.Dirty && !src.Enrolled }

// HasMain tells whether a directory is a repository of fettle: it has a main file
// in one of the forms of the language.
func HasMain(dir string, exists func(string) bool) bool {
	return slices.ContainsFunc(langsource.MainFiles(), func(name string) bool { return exists(path.Join(dir, name)) })
}

// OpenSource opens the repository at a revision; "" is the files as they are.
// The caller closes its repo.
func (s *Session) OpenSource(ctx context.Context, rev string) (*Source, error) {
	r, err := repo.OpenWith(ctx, s.Dir, s.Limits())
	if err != nil {
		return nil, err
	}
	if limit := s.App.Language.Limit; limit != nil {
		limit(s.compileTimeout, s.compileMemory)
	}
	if secrets := s.App.Language.Secrets; secrets != nil {
		secrets(s.Identities)
	}
	if r, err = plainDirectory(ctx, s, r); err != nil {
		return nil, err
	}
	var src *Source
	err = remembering(s, r, rev, func() error {
		src, err = readSource(ctx, s.Printer, r, rev)
		return err
	})
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return src, nil
}

func (f *repositoryFlags) Limits() repo.Limits {
	return repo.Limits{Files: f.maxFiles, FileSize: f.maxFileSize, Silence: f.compileTimeout}
}

// plainDirectory moves a repository without git to the parent directory with the main file. Without a
// main file, it refuses before it reads any other file: the directory could be a home directory.
func plainDirectory(ctx context.Context, s *Session, r *repo.Repo) (*repo.Repo, error) {
	if r.IsGit() {
		return r, nil
	}
	dir := r.Top()
	for !HasMain(dir, FileExists) {
		if dir == filepath.Dir(dir) {
			_ = r.Close()
			return nil, NoMain(r.Top())
		}
		dir = filepath.Dir(dir)
	}
	if dir == r.Top() {
		return r, nil
	}
	_ = r.Close()
	return repo.OpenWith(ctx, dir, s.Limits())
}

// NoMain is the error about a directory without a fettle.hcl.
func NoMain(dir string) error {
	err := fmt.Errorf("cannot find a repository: there is no %s in %q or above",
		strings.Join(langsource.MainFiles(), ", "), dir)
	return WithHint(&noRepository{err}, "Name the directory of the repository with -C DIR, or create one: fettle init DIR")
}

// readSource returns a cached tree, or reads it. Only in the second case it starts the compiler,
// because the results for a cached tree can be cached too.
func readSource(ctx context.Context, s *Printer, r *repo.Repo, rev string) (*Source, error) {
	tree, info, known := r.Recall(rev)
	if prepare := s.App.Language.Prepare; !known && prepare != nil {
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
	src := &Source{Repo: r, Tree: tree, Rev: info}
	src.Prefix, err = findMain(src.Tree, r.Prefix())
	if err != nil {
		return nil, NoMain(path.Join(r.Top(), r.Prefix()))
	}
	if src.Prefix != "." {
		src.Tree = repo.Sub(src.Tree, src.Prefix)
	}
	return src, nil
}

// findMain looks for the main file in dir and upwards.
func findMain(t repo.Tree, dir string) (string, error) {
	for {
		if HasMain(dir, func(p string) bool { _, err := t.Stat(p); return err == nil }) {
			return dir, nil
		}
		if dir == "." {
			return "", fs.ErrNotExist
		}
		dir = path.Dir(dir)
	}
}

// ChooseTarget returns the target: the named one, otherwise this host if it is declared, otherwise ""
// for the only target.
func (s *Session) ChooseTarget(src *Source) (string, error) {
	names, err := s.Targets(src)
	switch {
	case err != nil && s.Target != "":
		return s.Target, nil // the compilation reports the errors, and the names of the targets
	case err != nil:
		return "", err
	case s.Target != "" && !slices.Contains(names, s.Target):
		return "", UnknownTarget(s.Target, names)
	case s.Target != "":
		return s.Target, nil
	}
	if len(names) == 1 {
		return names[0], nil
	}
	if host, err := s.App.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		for _, name := range []string{host, short} {
			if slices.Contains(names, name) {
				return name, nil
			}
		}
	}
	if len(names) == 0 {
		return "", Refuse(`Declare one in fettle.hcl: target "NAME" { modules = ["base"] }`,
			"cannot choose a target: the repository declares none")
	}
	return "", Refuse("Name one: -t "+names[0]+" ("+strings.Join(names, ", ")+")",
		"cannot choose a target: the repository declares several and none has this host's name")
}

// CompileTarget makes the list of one target.
func CompileTarget(ctx context.Context, s *Session, tree repo.Tree, target string) (compile.Result, error) {
	in, err := s.Input(ctx, tree, target)
	if err != nil {
		return compile.Result{}, err
	}
	return compileInput(s, in)
}

// compileInput compiles and shows warnings. Every command that compiles calls it.
func compileInput(s *Session, in compile.Input) (compile.Result, error) {
	res, ds := s.App.Language.Compile(in)
	if err := ds.Err(); err != nil {
		return compile.Result{}, err
	}
	s.Warnings(ds)
	return res, nil
}

// Input is the input of the compilation for a target, with its facts and the variables of --var.
func (s *Session) Input(ctx context.Context, tree repo.Tree, target string) (compile.Input, error) {
	vars, err := s.variables()
	if err != nil {
		return compile.Input{}, err
	}
	m, err := s.Machine()
	if err != nil {
		return compile.Input{}, err
	}
	in := compile.Input{Tree: tree, Target: target, Vars: vars}
	if s.Remote != nil {
		in.Facts = s.Remote.Facts()
		return in, nil
	}
	in.Facts, err = s.App.Facts(ctx, m)
	return in, err
}

// Warnings prints the warnings of diagnostics on standard error.
func (s *Session) Warnings(ds diag.List) {
	s.warned += len(ds)
	if len(ds) > 0 && !s.JSON {
		s.ErrStyle().Diagnostics(s.App.Stderr, ds)
	}
}

// Request compiles the target at the requested revision. closing closes the repository, which provides
// the content of blobs until then. A list for a machine has no placeholders of secrets.
func (s *Session) Request(ctx context.Context, forMachine bool) (req executor.Request, closing func(), err error) {
	src, err := s.HubAccess.Open(ctx)
	if err == nil {
		err = src.None
	}
	if err != nil {
		return executor.Request{}, nil, err
	}
	closing = src.Close
	target, err := s.ChooseTarget(src)
	if err == nil && forMachine {
		err = s.ConnectTarget(ctx, src, target)
	}
	if err == nil {
		var in compile.Input
		if in, err = s.Input(ctx, src.Tree, target); err == nil {
			in.NeedSecrets = forMachine
			if req, err = s.ListOf(src, in); err == nil {
				return req, closing, nil
			}
		}
	}
	closing()
	return executor.Request{}, nil, err
}

// ErrNoRepository marks that there is no repository here.
var ErrNoRepository = errors.New("there is no repository")

// noRepository is errNoRepository with a message about the missing files.
type noRepository struct{ error }

func (n *noRepository) Is(target error) bool { return target == ErrNoRepository }

// Directory is where the files of a repository are.
func (src *Source) Directory() string { return path.Join(src.Repo.Top(), src.Prefix) }
