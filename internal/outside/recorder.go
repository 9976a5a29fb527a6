package outside

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/aymanbagabas/go-udiff"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/repo"
)

// Generated is a generator with the state of its recorded output.
type Generated struct {
	Name     string `json:"name"`
	File     string `json:"file"`          // with the recorded output
	Declared string `json:"declared"`      // file:line
	State    string `json:"state"`         // current, written, same, differs or failed
	Why      string `json:"why,omitempty"` // why it must run
	Diff     string `json:"diff,omitempty"`
}

// Recorder runs generators of a repository, and records their output in it.
type Recorder struct {
	// Generate runs one generator, and returns its output.
	Generate func(ctx context.Context, tree repo.Tree, g generator.Run) ([]byte, error)
	// Force runs generators whose inputs have not changed. Check does so too, and writes nothing.
	Force, Check bool
}

// Record runs a generator if necessary, and records its output below a directory. Errors in its
// output are configuration errors, and the state is then failed.
func (x Recorder) Record(ctx context.Context, dir string, tree repo.Tree,
	r generator.Run) (Generated, diag.List, error) {
	d := Generated{Name: r.Name, File: path.Join(r.Directory, r.OutputFile()),
		Declared: fmt.Sprintf("%s:%d", r.Range.File, r.Range.Start.Line), State: "current", Why: r.Why}
	if r.Why == "" && !x.Force && !x.Check {
		return d, nil, nil
	}
	printed, err := x.Generate(ctx, tree, r)
	var bad *diag.ListError
	if errors.As(err, &bad) {
		d.State = "failed"
		return d, bad.List, nil
	}
	if err != nil {
		d.State = "failed"
		return d, nil, err
	}
	old, _ := tree.ReadFile(d.File) // a missing file is like an empty one
	d.State, d.Diff = "same", udiff.Unified("a/"+d.File, "b/"+d.File, string(old), string(printed))
	if r.Why == "" && d.Diff == "" {
		return d, nil, nil
	}
	if d.State = "differs"; x.Check {
		return d, nil, nil
	}
	d.State = "written"
	return d, nil, x.write(dir, d.File, printed, r)
}

func (Recorder) write(dir, file string, printed []byte, r generator.Run) error {
	lock, err := r.Record(printed).Bytes()
	if err == nil {
		err = writeFile(dir, file, printed, plainFile)
	}
	if err == nil {
		err = writeFile(dir, path.Join(r.Directory, r.LockFile()), lock, plainFile)
	}
	return err
}
