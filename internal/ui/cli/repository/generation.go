package repository

import (
	"context"
	"path"
	"slices"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// generation is one call of the command.
type generation struct {
	*cli.Session
	names        []string
	force, check bool
	doc          GenerateDoc
	done         map[string]bool // by lock file
	ds           diag.List
}

// pass runs the generators that have not run yet. Only the errors of the last pass count: the first
// pass lacks their output.
func (g *generation) pass(ctx context.Context) (wrote bool, err error) {
	src, err := openWorkTree(ctx, g.Session)
	if err != nil {
		return false, err
	}
	defer src.Repo.Close()
	targets, ds := g.App.Language.Targets(src.Tree)
	if err := ds.Err(); err != nil {
		return false, err
	}
	if g.Target != "" && !slices.Contains(targets, g.Target) {
		return false, cli.UnknownTarget(g.Target, targets)
	}
	if g.Target != "" {
		targets = []string{g.Target}
	}
	g.ds = slices.DeleteFunc(g.ds, func(d diag.Diagnostic) bool { return !g.failed(d) })
	for _, t := range targets {
		in, err := g.Input(ctx, src.Tree, t)
		if err != nil {
			return false, err
		}
		runs, _ := compile.Ask(g.App.Language.Queries, compile.GeneratorsQuery{Input: in})
		ran := false
		for _, r := range runs {
			if lock := path.Join(r.Directory, r.LockFile()); !g.done[lock] &&
				(len(g.names) == 0 || slices.Contains(g.names, r.Name)) {
				g.done[lock], ran = true, true
				if err := g.one(ctx, src, r); err != nil {
					return false, err
				}
			}
		}
		wrote = wrote || ran
		if !ran && !g.check {
			_, ds := g.App.Language.Compile(in)
			g.ds = append(g.ds, ds...)
		}
	}
	return wrote, nil
}

// failed reports whether an error is about a generator that failed in this call.
func (g *generation) failed(d diag.Diagnostic) bool {
	return slices.ContainsFunc(g.doc.Generators, func(x outside.Generated) bool {
		return x.State == "failed" && (x.Declared == cli.PlaceText(d.Range) || x.File == d.Range.File)
	})
}

// one runs a generator if necessary, and shows the result.
func (g *generation) one(ctx context.Context, src *workspace.Source, r generator.Run) error {
	x := outside.Recorder{Generate: g.App.Programs.Generate, Force: g.force, Check: g.check}
	d, ds, err := x.Record(ctx, src.Directory(), src.Tree, r)
	g.ds = append(g.ds, ds...)
	g.doc.Generators = append(g.doc.Generators, d)
	g.show(d)
	return err
}

// GenerateDoc lists generators with the state of their recorded output.
type GenerateDoc struct {
	Format      string               `json:"format"` // fettle.generate/1
	Generators  []outside.Generated  `json:"generators"`
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

func (g *generation) show(d outside.Generated) {
	if g.JSON {
		return
	}
	why := ""
	if d.Why != "" {
		why = " (" + d.Why + ")"
	}
	g.Printf("%s %s%s\n", d.File, d.State, why)
	if d.Diff == "" {
		return
	}
	limit := 20
	if g.Verbose {
		limit = -1
	}
	g.Style().Diff(g.App.Stdout, d.Diff, "  ", limit)
}
