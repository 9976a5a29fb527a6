package cli

import (
	"context"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/workspace"
)

// workspace returns the repository, the compiler and the cache of this command line.
func (s *Session) workspace() workspace.Workspace {
	l := s.App.Language
	w := workspace.Workspace{Dir: s.Dir, Limits: s.Limits(), Language: l, Prepare: l.Prepare, Cache: s.openCache,
		Program: s.App.Build, Now: s.App.Now, Warn: s.Warnings, Adopt: s.Adopt}
	w.Configure = func() {
		if l.Limit != nil {
			l.Limit(s.compileTimeout, s.compileMemory)
		}
		if l.Secrets != nil {
			l.Secrets(s.Identities)
		}
	}
	return w
}

// OpenSource opens the repository at a revision; "" is the files as they are. The caller closes it.
func (s *Session) OpenSource(ctx context.Context, rev string) (*workspace.Source, error) {
	return s.workspace().Open(ctx, rev)
}

func (f *repositoryFlags) Limits() repo.Limits {
	return repo.Limits{Files: f.maxFiles, FileSize: f.maxFileSize, Silence: f.compileTimeout}
}

// Inventory returns the known data of the targets of a repository without facts.
func Inventory(s *Session, src *workspace.Source) ([]query.Target, error) {
	return s.workspace().Inventory(src)
}

// Targets are the names that the repository declares.
func (s *Session) Targets(src *workspace.Source) ([]string, error) {
	all, err := Inventory(s, src)
	return TargetNames(all), err
}

// ListOf compiles a list of an open repository for an executor.
func (s *Session) ListOf(src *workspace.Source, in compile.Input) (executor.Request, error) {
	return s.workspace().Request(src, in)
}

// ChooseTarget returns the target: the named one, otherwise this host if it is declared, otherwise ""
// for the only target.
func (s *Session) ChooseTarget(src *workspace.Source) (string, error) {
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
	return s.workspace().Compile(in)
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
