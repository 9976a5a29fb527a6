package cli

import (
	"context"

	"github.com/zclconf/go-cty/cty"

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
	vars, err := s.Variables()
	if err != nil {
		return compile.Input{}, err
	}
	in := compile.Input{Tree: tree, Target: target, Vars: vars}
	in.Facts, err = s.facts(ctx)
	return in, err
}

// facts returns the facts of the target.
func (s *Session) facts(ctx context.Context) (map[string]cty.Value, error) {
	m, err := s.Machine()
	if err != nil {
		return nil, err
	}
	if s.Remote != nil {
		return s.Remote.Facts(), nil
	}
	return s.App.Facts(ctx, m)
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

// Members compiles many targets, at the same time where the language can.
func (s *Printer) Members(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List) {
	if fleet := s.App.Language.Fleet; fleet != nil && (lists || len(targets) > 1) {
		return fleet(in, targets, lists)
	}
	var out []compile.Member
	var ds diag.List
	for _, t := range targets {
		in.Target = t
		res, more := s.App.Language.Compile(in)
		ds = append(ds, more...)
		if more.HasErrors() {
			continue
		}
		m := compile.Member{Target: t, Steps: len(res.List), Digest: res.List.Digest()}
		if lists {
			m.List = res.List
		}
		out = append(out, m)
	}
	return out, ds
}
