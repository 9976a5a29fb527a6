package savedplan

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Plan is an open saved plan. The content of its request is read from the file until Close is called.
type Plan struct {
	Request executor.Request
	Digest  string // of the plan that the planning machine made for the request
	Far     bool   // it is for another machine than the planning machine
	archive *zip.ReadCloser
}

// Close closes the file.
func (p *Plan) Close() { _ = p.archive.Close() }

// Open opens a saved plan. The file is untrusted: it must have exactly the canonical form, memory grows
// only with its list, and it is verified completely before Open returns. fs.ErrNotExist is in the chain
// of the error about a missing file.
func Open(path string) (*Plan, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	p, err := readArchive(&z.Reader, st.Size())
	if err != nil {
		_ = z.Close()
		return nil, err
	}
	p.archive = z
	return p, nil
}

func readArchive(z *zip.Reader, size int64) (*Plan, error) {
	files, err := parts(z, size)
	if err != nil {
		return nil, err
	}
	list, err := readList(files[listFile])
	if err != nil {
		return nil, err
	}
	s, states, err := readMain(files[mainFile], list)
	if err != nil {
		return nil, err
	}
	ds := step.LintOptions{RequireUndo: s.Policy.RequireUndo}.Lint(list, step.DebianBase{})
	if err := firstError(ds); err != nil {
		return nil, err
	}
	blobs, err := readContent(z, files, list)
	var secrets secret.Bundle
	if s.Secrets != nil {
		secrets = *s.Secrets
	}
	return &Plan{Digest: s.Plan, Far: s.Far, Request: executor.Request{
		Target: s.Target, Revision: s.Revision, List: unplaced(list), Blobs: blobs, States: states,
		Repair: s.Repair, Verify: s.Verify, Guards: s.Guards, Policy: s.Policy, Secrets: secrets, Repository: s.Repository,
		Adopt: s.Adopt,
	}}, err
}

// parts are the files of an archive by name. It has no others than a plan has,
// and none twice, and its content does not share bytes.
func parts(z *zip.Reader, size int64) (map[string]*zip.File, error) {
	files := make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		name, isBlob := strings.CutPrefix(f.Name, blobDir)
		switch {
		case files[f.Name] != nil:
			return nil, fmt.Errorf("it has %.80q twice", f.Name)
		case isBlob && step.IsDigest("sha256:"+name):
			if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 {
				return nil, fmt.Errorf("%s is compressed, but content must be stored uncompressed", f.Name)
			}
			if f.CompressedSize64 > uint64(size) {
				return nil, errors.New("its content is declared to be larger than the file")
			}
			size -= int64(f.CompressedSize64)
		case f.Name != mainFile && f.Name != listFile:
			return nil, fmt.Errorf("it contains %.80q, which is not part of a plan", f.Name)
		}
		files[f.Name] = f
	}
	for _, name := range []string{mainFile, listFile} {
		if files[name] == nil {
			return nil, fmt.Errorf("it has no %s", name)
		}
	}
	return files, nil
}

// readList reads the list, which is written just as Print writes it.
func readList(f *zip.File) (step.List, error) {
	text, err := readPart(f, step.MaxFile)
	if err != nil {
		return nil, err
	}
	list, ds := step.Parse(listFile, text)
	if err := firstError(ds); err != nil {
		return nil, err
	}
	var again bytes.Buffer
	if err := step.Print(&again, list, step.PrintOptions{Source: true}); err != nil {
		return nil, err
	}
	if !bytes.Equal(again.Bytes(), text) {
		return nil, errors.New("its list does not have the format that fettle writes")
	}
	return list, nil
}

func firstError(ds diag.List) error {
	for _, d := range ds {
		if d.Severity == diag.Error {
			return errors.New(d.String())
		}
	}
	return nil
}

// readMain reads plan.json. It accepts only the exact bytes that this version of fettle writes.
func readMain(f *zip.File, list step.List) (mainDoc, []executor.StateRef, error) {
	text, err := readPart(f, maxMain(list))
	if err != nil {
		return mainDoc{}, nil, err
	}
	var s mainDoc
	if err := journal.Unmarshal(text, &s); err != nil {
		return s, nil, fmt.Errorf("its %s is damaged: %w", mainFile, err)
	}
	if s.Format != format {
		return s, nil, fmt.Errorf("its format is %.80q, but this version of fettle reads %q", s.Format, format)
	}
	states, err := readStates(s.States, list)
	if err != nil {
		return s, nil, err
	}
	again, err := journal.Marshal(s)
	switch {
	case err != nil:
		return s, nil, err
	case !bytes.Equal(again, text):
		return s, nil, fmt.Errorf("its %s does not have the format that fettle writes", mainFile)
	case list.Digest() != s.List:
		return s, nil, errors.New("its list was changed after it was saved")
	case !step.IsDigest(s.Plan):
		return s, nil, errors.New("it does not contain the digest of its plan")
	}
	return s, states, validPolicy(s.Policy)
}

// maxMain bounds plan.json: its states name the steps of the list, each by
// its address, with a name and a place.
func maxMain(list step.List) int64 {
	most := int64(2 << 20)
	for _, s := range list {
		most += 4*int64(len(s.Addr())+len(s.Source)) + 512
	}
	return most
}

// readStates reads the states, of which each has steps of the list.
func readStates(text []byte, list step.List) ([]executor.StateRef, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, notStates(text)
	}
	known := make(map[addr.Addr]bool, len(list))
	for _, s := range list {
		known[s.Addr()] = true
	}
	var out []executor.StateRef
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		st, err := readState(raw, known)
		if err != nil {
			return nil, err
		}
		if out = append(out, st); len(out) > len(list) {
			return nil, errors.New("it has more states than steps")
		}
	}
	if again, err := journal.Marshal(out); err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("its states do not have the format that fettle writes")
	}
	return out, nil
}

// notStates allows a plan that has none.
func notStates(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	return errors.New("its states are not a list")
}

func readState(text []byte, known map[addr.Addr]bool) (st executor.StateRef, err error) {
	if err := journal.Unmarshal(text, &st); err != nil {
		return st, fmt.Errorf("one of its states is damaged: %w", err)
	}
	for _, a := range st.Addrs {
		if !known[a] {
			return st, fmt.Errorf("its state %.80q refers to %.80q, which is not a step of its list", st.ID,
				string(a))
		}
	}
	return st, nil
}

// validPolicy refuses what a repository could not say.
func validPolicy(p catalog.Policy) error {
	for _, x := range []struct {
		name, value string
		of          []string
	}{
		{"on_failure", p.OnFailure, []string{"", "stop", "undo"}},
		{"on_crash", p.OnCrash, []string{"", "undo", "finish"}},
		{"on_check_failure", p.OnCheckFailure, []string{"", "keep", "rollback"}},
		{"drift", p.Drift, []string{"", "repair", "report"}},
		{"lockout", p.LockOut, []string{"", "confirm", "checks", "ignore"}},
	} {
		if !slices.Contains(x.of, x.value) {
			return fmt.Errorf("its policy has %s %.80q, which is not a valid value", x.name, x.value)
		}
	}
	if p.Repository != "" && !catalog.IsRepositoryName(p.Repository) {
		return fmt.Errorf("its policy has repository %.80q, which is not a valid name", p.Repository)
	}
	if _, ok := catalog.ConfirmTime(p.ConfirmWithin); !ok && p.ConfirmWithin != "" {
		return fmt.Errorf("its policy has confirm_within %.80q, which is not a valid time", p.ConfirmWithin)
	}
	return nil
}

// unplaced removes the places in the list of the archive: a compiled list
// has none, and messages are about the repository's files.
func unplaced(l step.List) step.List {
	out := slices.Clone(l)
	for i := range out {
		out[i].Range, out[i].Written = diag.Range{}, ""
	}
	return out
}

// readPart reads a file of the archive that has no more than most bytes.
func readPart(f *zip.File, most int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(most) {
		return nil, fmt.Errorf("its %s has %d bytes, but at most %d bytes are needed", f.Name, f.UncompressedSize64, most)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || int64(len(text)) > most {
		return nil, fmt.Errorf("its %s is damaged: %w", f.Name, orDamaged(err))
	}
	return text, nil
}

func orDamaged(err error) error {
	if err == nil {
		return zip.ErrFormat
	}
	return err
}

// readContent returns the content of the list: all of it, and no other content.
func readContent(z *zip.Reader, files map[string]*zip.File, list step.List) (map[string]kind.Blob, error) {
	blobs, digests := map[string]kind.Blob{}, blobsOf(list)
	if extra := len(files) - 2 - len(digests); extra > 0 {
		return nil, fmt.Errorf("it contains files to which no step refers (%d)", extra)
	}
	for _, d := range digests {
		f := files[blobName(d)]
		if f == nil {
			return nil, fmt.Errorf("it has no %s, to which its list refers", blobName(d))
		}
		if err := isContent(f, d); err != nil {
			return nil, err
		}
		blobs[d] = kind.Blob{Digest: d, Size: int64(f.UncompressedSize64), Tree: kind.FileTree(z), Path: f.Name}
	}
	return blobs, nil
}

// isContent reads a file of the archive to its end and compares the digest.
func isContent(f *zip.File, digest string) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", f.Name, err)
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return fmt.Errorf("%s is damaged: %w", f.Name, err)
	}
	if "sha256:"+hex.EncodeToString(sum.Sum(nil)) != digest {
		return fmt.Errorf("the content of %s does not match its name", f.Name)
	}
	return nil
}
