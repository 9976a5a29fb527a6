// Package supportbundle collects the data that a support team needs about a host, without secrets:
//
//	b := supportbundle.New()
//	b.AddEngine(ctx, x)
//	b.AddFacts(facts)
//	err := b.Write(w, now)
//
// A bundle is a tar.gz archive. The texts of files, accounts, commands and settings are never in it; see its
// README. Missing data is listed in missing.json, and is not an error.
package supportbundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
)

// Bundle has the files of an archive, and the list of missing data. New returns one.
type Bundle struct {
	names   []string
	texts   map[string][]byte
	missing []string
}

// New returns a bundle with its README.
func New() *Bundle {
	b := &Bundle{texts: map[string][]byte{}}
	b.Add("README", readme)
	return b
}

// Add adds a file.
func (b *Bundle) Add(name, text string) {
	b.names = append(b.names, name)
	b.texts[name] = []byte(text)
}

// Document adds a file with a JSON document.
func (b *Bundle) Document(name string, doc any) {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		b.Failed("write "+name, err)
		return
	}
	b.Add(name, string(text)+"\n")
}

// Failed adds an operation to the missing data if it has an error. Only the kind of the error is listed,
// because its text can quote the output of a program. The operation follows "cannot".
func (b *Bundle) Failed(what string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		b.missing = append(b.missing, "cannot "+what+": permission denied")
	case errors.Is(err, executor.ErrLocked):
		b.missing = append(b.missing, "cannot "+what+": locked")
	default:
		b.missing = append(b.missing, "cannot "+what)
	}
}

// AddEngine adds the status, the history and the newest runs of a host.
func (b *Bundle) AddEngine(ctx context.Context, x executor.Executor) {
	st, err := x.Status(ctx)
	b.Failed("read the status", err)
	if err == nil {
		b.Document("status.json", statusOf(st))
	}
	runs, err := x.Runs(ctx)
	b.Failed("read the history", err)
	log := []run{}
	for _, r := range runs {
		log = append(log, runOf(r))
	}
	b.Document("log.json", log)
	for _, r := range runs[max(0, len(runs)-maxRuns):] {
		run := r.Header.Run
		shown, err := x.Show(ctx, run)
		b.Failed(fmt.Sprintf("read run %d", run), err)
		if err == nil {
			b.Document(fmt.Sprintf("runs/%06d.json", run), shownOf(shown))
		}
	}
}

// AddFacts adds the facts of the host.
func (b *Bundle) AddFacts(facts map[string]cty.Value) { b.Document("facts.json", factsOf(facts)) }

// Miss adds sentences to the missing data.
func (b *Bundle) Miss(texts ...string) { b.missing = append(b.missing, texts...) }

// Write writes the archive. The files have the time now.
func (b *Bundle) Write(w io.Writer, now time.Time) error {
	if len(b.missing) > 0 {
		b.Document("missing.json", b.missing)
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	slices.Sort(b.names)
	for _, name := range b.names {
		h := &tar.Header{Name: "fettle-support/" + name, Mode: 0o600, Size: int64(len(b.texts[name])),
			ModTime: now.UTC().Truncate(time.Second), Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(b.texts[name]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// maxRuns is the number of runs in the bundle with their changes.
const maxRuns = 10
