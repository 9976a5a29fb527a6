// Package savedplan writes and reads saved plans: the files of fettle plan -o.
//
//	err := savedplan.Write("web1.plan", savedplan.Origin{Version: version}, req, p)
//	saved, err := savedplan.Open("web1.plan")
//
// A saved plan is a zip archive that needs neither the repository nor git:
//
//	plan.json   the request without list and content, and two digests
//	list.steps  the wanted list, canonical, with source comments
//	blobs/9f86… the content that steps name, one file for each digest
//
// Only its owner can read it, because content can be secret. Blobs are stored uncompressed, so that an
// archive holds no more than its own size. The plan itself is only named, by its digest: it is made
// again on the machine, shown, and done if it is the same. So nothing in an archive replaces what is
// shown to the user.
package savedplan

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Names of the files in the archive.
const (
	format   = "fettle.saved-plan/2"
	mainFile = "plan.json"
	listFile = "list.steps"
	blobDir  = "blobs/"
)

// mainDoc is the document plan.json.
type mainDoc struct {
	Format   string        `json:"format"`
	Version  string        `json:"version"` // of the fettle that wrote it
	Target   string        `json:"target"`
	Far      bool          `json:"far,omitempty"` // the target is not the planning machine
	Revision repo.Revision `json:"revision"`
	// Repository and Adopt are fields of the request.
	Repository repo.Identity   `json:"repository,omitzero"`
	Adopt      bool            `json:"adopt,omitempty"`
	List       string          `json:"list"` // digest
	Plan       string          `json:"plan"` // digest
	Repair     bool            `json:"repair"`
	Verify     bool            `json:"verify"`
	Guards     executor.Guards `json:"guards,omitempty"`
	Policy     catalog.Policy  `json:"policy"`
	States     json.RawMessage `json:"states"` // []executor.StateRef, read one by one
	Secrets    *secret.Bundle  `json:"secrets,omitempty"`
}

// Origin describes where a plan was made.
type Origin struct {
	Version string // of the fettle that made it
	Far     bool   // the target is another machine than the planning one
}

// Write writes a plan, with the request that it was made for and all content that the request names, to
// a new file at path. The file appears whole or not at all, and only its owner can read it.
func Write(path string, o Origin, req executor.Request, p *plan.Plan) (err error) {
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
	if err = writeArchive(f, o, req, p); err != nil {
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

func writeArchive(w io.Writer, o Origin, req executor.Request, p *plan.Plan) error {
	z := zip.NewWriter(w)
	main, err := z.Create(mainFile)
	if err != nil {
		return err
	}
	states, err := journal.Marshal(req.States)
	if err != nil {
		return err
	}
	var secrets *secret.Bundle
	if req.Secrets.Key != "" {
		secrets = &req.Secrets
	}
	text, err := journal.Marshal(mainDoc{
		Format: format, Version: o.Version, Far: o.Far, Target: req.Target, Revision: req.Revision,
		List: req.List.Digest(), Plan: p.Digest(),
		Repair: req.Repair, Verify: req.Verify, Guards: req.Guards, Policy: req.Policy, Repository: req.Repository,
		Adopt: req.Adopt, States: states, Secrets: secrets,
	})
	if err != nil {
		return err
	}
	if _, err := main.Write(text); err != nil {
		return err
	}
	list, err := z.Create(listFile)
	if err != nil {
		return err
	}
	if err := step.Print(list, req.List, step.PrintOptions{Source: true}); err != nil {
		return err
	}
	if err := writeBlobs(z, req.List, req.Blobs); err != nil {
		return err
	}
	return z.Close()
}

func writeBlobs(z *zip.Writer, list step.List, blobs map[string]kind.Blob) error {
	for _, d := range blobsOf(list) {
		b, ok := blobs[d]
		if !ok {
			return fmt.Errorf("the content %s is not available", d)
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: blobName(d), Method: zip.Store})
		if err != nil {
			return err
		}
		if err := copyBlob(out, b); err != nil {
			return err
		}
	}
	return nil
}

// blobsOf are the digests that a list names, sorted, each once.
func blobsOf(list step.List) []string {
	var digests []string
	for _, s := range list {
		digests = append(digests, s.Blobs()...)
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

func blobName(digest string) string { return blobDir + strings.TrimPrefix(digest, "sha256:") }

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
