package cli

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// A saved plan is a zip archive: plan.json, list.steps (canonical, with source
// comments) and blobs/HEX, the content that steps name. It needs neither the
// repository nor git, and it is readable by its owner alone, because content
// can be secret.
//
//	plan.json   savedPlan
//	list.steps  the wanted list
//	blobs/9f86… one file a digest
const (
	savedFormat = "fettle.saved-plan/1"
	savedMain   = "plan.json"
	savedList   = "list.steps"
	savedBlobs  = "blobs/"

	// maxSavedMain bounds what is read into memory of a file that anybody
	// could have written.
	maxSavedMain = 512 << 20
)

type savedPlan struct {
	Format   string              `json:"format"`
	Version  string              `json:"version"` // of the fettle that wrote it
	Target   string              `json:"target"`
	Revision repo.Revision       `json:"revision"`
	List     string              `json:"list"` // digest
	States   []executor.StateRef `json:"states,omitempty"`
	Repair   bool                `json:"repair"`
	Diffs    bool                `json:"diffs"`
	Verify   bool                `json:"verify"`
	Policy   catalog.Policy      `json:"policy"`
	Plan     *plan.Plan          `json:"plan"`
}

// savePlan writes a plan and all that it needs to a new file at path. The file
// appears whole or not at all.
func savePlan(path, version string, req executor.Request, p *plan.Plan) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".fettle-plan-*") // mode 0600
	if err != nil {
		return fmt.Errorf("cannot save the plan: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("cannot save the plan to %q: %w", path, err)
		}
	}()
	if err = req.Fill(); err != nil {
		return err
	}
	if err = writeSaved(f, version, req, p); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeSaved(w io.Writer, version string, req executor.Request, p *plan.Plan) error {
	z := zip.NewWriter(w)
	main, err := z.Create(savedMain)
	if err != nil {
		return err
	}
	err = json.NewEncoder(main).Encode(savedPlan{
		Format: savedFormat, Version: version, Target: req.Target, Revision: req.Revision, List: req.List.Digest(),
		States: req.States, Repair: req.Repair, Diffs: req.Diffs, Verify: req.Verify, Policy: req.Policy, Plan: p,
	})
	if err != nil {
		return err
	}
	list, err := z.Create(savedList)
	if err != nil {
		return err
	}
	if err := step.Print(list, req.List, step.PrintOptions{Source: true}); err != nil {
		return err
	}
	if err := writeBlobs(z, req.Blobs); err != nil {
		return err
	}
	return z.Close()
}

func writeBlobs(z *zip.Writer, blobs map[string]kind.Blob) error {
	var digests []string
	for d := range blobs {
		digests = append(digests, d)
	}
	slices.Sort(digests)
	for _, d := range digests {
		out, err := z.Create(savedBlobs + strings.TrimPrefix(d, "sha256:"))
		if err != nil {
			return err
		}
		if err := copyBlob(out, blobs[d]); err != nil {
			return err
		}
	}
	return nil
}

func copyBlob(w io.Writer, b kind.Blob) error {
	if b.Tree == nil {
		_, err := w.Write(b.Data)
		return err
	}
	r, err := b.Tree.Open(b.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

// loadPlan opens a saved plan. The request reads its blobs from the file until
// closing is called.
func loadPlan(path string) (req executor.Request, p *plan.Plan, closing func(), err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return req, nil, nil, notSaved(path, err)
	}
	req, p, err = readSaved(&z.Reader)
	if err != nil {
		_ = z.Close()
		return req, nil, nil, notSaved(path, err)
	}
	return req, p, func() { _ = z.Close() }, nil
}

func notSaved(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return withHint(fmt.Errorf("cannot read the saved plan %q: there is no such file", path), "Write one: fettle plan -o "+path)
	}
	return withHint(fmt.Errorf("cannot read the saved plan %q: %w", path, err), "Write it again: fettle plan -o "+path)
}

func readSaved(z *zip.Reader) (executor.Request, *plan.Plan, error) {
	var s savedPlan
	text, err := readPart(z, savedMain)
	if err != nil {
		return executor.Request{}, nil, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return executor.Request{}, nil, err
	}
	if s.Format != savedFormat || s.Plan == nil {
		return executor.Request{}, nil, fmt.Errorf("it has format %q and this fettle reads %q", s.Format, savedFormat)
	}
	text, err = readPart(z, savedList)
	if err != nil {
		return executor.Request{}, nil, err
	}
	list, ds := step.Parse(savedList, text)
	if err := ds.Err(); err != nil {
		return executor.Request{}, nil, errors.New(ds[0].String())
	}
	if list.Digest() != s.List {
		return executor.Request{}, nil, errors.New("its list was changed after it was saved")
	}
	return executor.Request{
		Target: s.Target, Revision: s.Revision, List: unplaced(list), Blobs: savedContent(z), States: s.States,
		Repair: s.Repair, Diffs: s.Diffs, Verify: s.Verify, Policy: s.Policy,
	}, s.Plan, nil
}

// unplaced takes away the places in the archive's own list: a compiled list
// has none, and messages are about the repository's files.
func unplaced(l step.List) step.List {
	out := slices.Clone(l)
	for i := range out {
		out[i].Range, out[i].Written = diag.Range{}, ""
	}
	return out
}

func readPart(z *zip.Reader, name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("it has no %s", name)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSavedMain))
}

func savedContent(z *zip.Reader) map[string]kind.Blob {
	blobs := map[string]kind.Blob{}
	for _, f := range z.File {
		hex, ok := strings.CutPrefix(f.Name, savedBlobs)
		if digest := "sha256:" + hex; ok && step.IsDigest(digest) {
			blobs[digest] = kind.Blob{Digest: digest, Size: int64(f.UncompressedSize64), Tree: fsTree{z}, Path: f.Name}
		}
	}
	return blobs
}
