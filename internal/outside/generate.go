package outside

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/sandbox"
	"fettle.dev/fettle/internal/step"
)

// maxStaged is the maximum size of all input files of a generator, in bytes.
const maxStaged = 256 << 20

// Generate runs a generator of a repository twice in a sandbox, and returns its output, which must be
// the same both times. It starts this binary with the argument word; main must then call
// sandbox.EnterProgram. An error of the generator or of its output is a diag.ListError with positions.
func Generate(ctx context.Context, tree repo.Tree, g generator.Run, word string) ([]byte, error) {
	dir, err := stage(tree, g)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the sandbox of %s: %w", g.ID, err)
	}
	p := sandbox.Program{Dir: dir, Argv: g.Command, Stdin: []byte(g.Stdin), Timeout: g.Timeout, MaxOutput: 1 << 20}
	var printed [2][]byte
	for i := range printed {
		res, err := sandbox.Run(ctx, word, p)
		if err != nil {
			return nil, fmt.Errorf("cannot run %s: %w", g.ID, err)
		}
		if ds := verdict(g, res); ds != nil {
			return nil, ds.Err()
		}
		printed[i] = res.Stdout
	}
	if !bytes.Equal(printed[0], printed[1]) {
		return nil, diag.List{diag.Errorf(g.Range, "Generator is not reproducible",
			"%s ran twice with the same input and printed different output. "+
				"Sort unordered data, and omit times, random numbers and memory addresses.", g.ID)}.Err()
	}
	return printed[0], configErrors(g, printed[0]).Err()
}

// verdict returns the errors of a run, or nil.
func verdict(g generator.Run, res sandbox.Printed) diag.List {
	fail := func(summary, detail string, args ...any) diag.List {
		text := fmt.Sprintf(detail, args...)
		if said := lastLines(res.Stderr); said != "" {
			text += " Its error output: " + said
		}
		return diag.List{diag.Errorf(g.Range, summary, "%s", text)}
	}
	const only = "In its sandbox it can read only its inputs and the programs below /usr, " +
		"and write only to its standard output; it has no network."
	switch {
	case res.TimedOut:
		return fail("Generator takes too long",
			"%s was ended after %s, with all of its processes. Increase timeout, or give the generator less work.", g.ID,
			g.Timeout)
	case res.TooLong:
		return fail("Generator prints too much", "%s was ended after 1 MiB of output. Split it with for_each.", g.ID)
	case res.Signal != "":
		return fail("Generator failed", "%s was ended by a signal (%s). %s", g.ID, res.Signal, only)
	case res.Code != 0:
		return fail("Generator failed", "%s ended with exit code %d. %s", g.ID, res.Code, only)
	}
	return nil
}

// lastLines returns the last lines of the error output of a program, as one line.
func lastLines(stderr string) string {
	lines := strings.FieldsFunc(strings.ToValidUTF8(stderr, "?"), func(r rune) bool { return r == '\n' })
	text := strings.Join(lines[max(0, len(lines)-5):], " / ")
	if len(text) > 1000 {
		text = "…" + strings.ToValidUTF8(text[len(text)-1000:], "")
	}
	return text
}

// configErrors parses the output as its declared type.
func configErrors(g generator.Run, printed []byte) diag.List {
	name := path.Join(g.Directory, g.OutputFile())
	var ds diag.List
	if g.Output == "json" {
		if _, err := jsonfront.Parse(front.NewSource(name, printed)); err != nil {
			ds = diag.List{err.Diagnostic()}
		}
	} else {
		_, ds = step.Parse(name, printed)
	}
	for i := range ds {
		ds[i] = ds[i].WithLine(printed)
		ds[i].Trace = append(ds[i].Trace, g.Range)
	}
	return ds
}

// stage creates the directory of a sandbox with the files of a run. The caller must remove it, also
// after an error.
func stage(tree repo.Tree, g generator.Run) (dir string, err error) {
	if err := g.Valid(); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(sandbox.Place(), "fettle-generate-*"); err != nil {
		return "", err
	}
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o755), os.Mkdir(work, 0o755),
		os.Chmod(work, 0o755)); err != nil {
		return dir, err
	}
	var total int64
	for _, p := range slices.Sorted(maps.Keys(g.Files)) {
		n, err := stageFile(tree, g, p, filepath.Join(work, filepath.FromSlash(p)))
		if err != nil {
			return dir, err
		}
		if total += n; total > maxStaged {
			return dir, fmt.Errorf("its inputs have more than %d MiB; name fewer inputs", maxStaged>>20)
		}
	}
	return dir, nil
}

func stageFile(tree repo.Tree, g generator.Run, p, to string) (int64, error) {
	from := path.Join(g.Directory, p)
	e, err := tree.Stat(from)
	if err != nil {
		return 0, err
	}
	in, err := tree.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	mode := os.FileMode(0o644)
	if e.Exec {
		mode = 0o755
	}
	if err := directories(filepath.Dir(to)); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return 0, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, maxStaged+1))
	err = errors.Join(err, out.Chmod(mode), out.Close())
	if err == nil && "sha256:"+hex.EncodeToString(sum.Sum(nil)) != g.Files[p] {
		err = fmt.Errorf("%s is being changed; try again", from)
	}
	return n, err
}

// directories makes a directory and its parents readable for all users, regardless of the umask.
func directories(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return errors.Join(directories(filepath.Dir(dir)), os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755))
}
