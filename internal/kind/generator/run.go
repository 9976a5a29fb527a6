package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// Limits of the input of a generator.
const (
	maxFiles  = 10_000
	maxStdin  = 1 << 20
	maxOutput = 1 << 20 // the limit of the front ends for one file
)

// Run is one run of a generator, with all inputs of its output. Paths are relative to the directory.
type Run struct {
	ID, Name, Directory string
	Command             []string
	Stdin               string // JSON, or "" without input
	Output              string // "steps" or "json"
	Timeout             time.Duration
	// Files are the files for the program, including the program itself, with their digests.
	Files map[string]string
	Range diag.Range
	// Why is the reason why the generator must be run, or "" if the recorded output is up to date.
	Why string
}

// RunOf returns the run of a state.
func RunOf(s kind.State) (Run, diag.List) {
	r := Run{ID: s.ID, Name: s.Str("name"), Directory: s.Files.Source("."), Command: s.Strings("command"),
		Output: s.Str("output"), Files: map[string]string{}, Range: s.Range}
	r.Timeout, _ = duration.Parse(s.Str("timeout")) // already checked
	if v := s.Attrs["input"]; s.Given("input") {
		if v.ContainsMarked() {
			return r, s.Errorf("input", "Secret for a generator",
				"The output of a generator is a file of the repository, so a generator cannot receive secrets. Use the secret "+
					"in the states that need it.")
		}
		b, err := ctyjson.Marshal(v, v.Type())
		if err != nil || len(b) > maxStdin {
			return r, s.Errorf("input", "Input is too large", "A generator gets at most 1 MiB of JSON on standard input.")
		}
		r.Stdin = string(b)
	}
	if strings.Contains(r.Command[0], "/") {
		if ds := r.add(s, "command", path.Clean(r.Command[0])); ds.HasErrors() {
			return r, ds
		}
	}
	for _, p := range s.Strings("inputs") {
		if ds := r.add(s, "inputs", path.Clean(p)); ds.HasErrors() {
			return r, ds
		}
	}
	_, r.Why = r.check(s.Files)
	return r, nil
}

// add adds a file, or all files of a directory, to the inputs.
func (r *Run) add(s kind.State, attr, p string) diag.List {
	e, err := s.Files.Stat(p)
	if err != nil {
		return s.Errorf(attr, "Input does not exist", "The generator needs %q: %s.", p, err)
	}
	switch e.Type {
	case repo.Dir:
		list, err := s.Files.ReadDir(p)
		if err != nil {
			return s.Errorf(attr, "Input does not exist", "The generator needs %q: %s.", p, err)
		}
		for _, e := range list {
			if ds := r.add(s, attr, path.Join(p, path.Base(e.Path))); ds.HasErrors() {
				return ds
			}
		}
	case repo.File:
		digest, _, err := s.Files.Digest(p)
		if err != nil {
			return s.Errorf(attr, "Input does not exist", "The generator needs %q: %s.", p, err)
		}
		r.Files[p] = digest
	default:
		return s.Errorf(attr, "Input is not a file", "%q is a link. Name the file itself.", p)
	}
	if len(r.Files) > maxFiles {
		return s.Errorf(attr, "Too many inputs", "The inputs of a generator are at most %d files.", maxFiles)
	}
	return nil
}

// base returns the path of its files without the extension. Runs with different standard input get
// different paths.
func (r Run) base() string {
	if r.Stdin == "" {
		return path.Join("generated", r.Name)
	}
	return path.Join("generated", r.Name+"-"+strings.TrimPrefix(digestOf([]byte(r.Stdin)), "sha256:")[:12])
}

// OutputFile is the path of the output. It and LockFile are relative to the directory.
func (r Run) OutputFile() string { return r.base() + "." + r.Output }

// LockFile is the path of the Record.
func (r Run) LockFile() string { return r.base() + ".lock" }

// Record identifies the inputs of an output.
type Record struct {
	Format  string            `json:"format"` // fettle.generated/1
	Command []string          `json:"command"`
	Input   string            `json:"input,omitempty"` // its digest, because the value can be a secret of a host
	Output  string            `json:"output"`          // "steps" or "json"
	Files   map[string]string `json:"files"`
	Digest  string            `json:"digest"` // of the output
}

const recordFormat = "fettle.generated/1"

// Record returns the record of a run with its output.
func (r Run) Record(printed []byte) Record {
	rec := Record{Format: recordFormat, Command: r.Command, Output: r.Output, Files: r.Files, Digest: digestOf(printed)}
	if r.Stdin != "" {
		rec.Input = digestOf([]byte(r.Stdin))
	}
	return rec
}

// Bytes returns the content of the file of a record.
func (r Record) Bytes() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// check reads the recorded output. why is the reason why it does not belong to the run, or "".
func (r Run) check(files kind.Files) (printed []byte, why string) {
	lock, err := files.ReadFile(r.LockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "it has not run yet"
	}
	var rec Record
	if err == nil {
		err = json.Unmarshal(lock, &rec)
	}
	if err != nil || rec.Format != recordFormat {
		return nil, r.LockFile() + " cannot be read"
	}
	if why := r.differs(rec); why != "" {
		return nil, why
	}
	printed, err = files.ReadFile(r.OutputFile())
	switch {
	case err != nil:
		return nil, r.OutputFile() + " cannot be read"
	case digestOf(printed) != rec.Digest:
		return nil, r.OutputFile() + " was changed by hand"
	}
	return printed, ""
}

func (r Run) differs(rec Record) string {
	now := r.Record(nil)
	switch {
	case !slices.Equal(now.Command, rec.Command):
		return "its command has changed"
	case now.Input != rec.Input:
		return "its input has changed"
	}
	for _, p := range slices.Sorted(maps.Keys(now.Files)) {
		if rec.Files[p] == "" {
			return p + " is new"
		}
		if rec.Files[p] != now.Files[p] {
			return p + " has changed"
		}
	}
	for _, p := range slices.Sorted(maps.Keys(rec.Files)) {
		if now.Files[p] == "" {
			return p + " is no longer an input"
		}
	}
	return ""
}

// recorded returns the recorded output, or a diagnostic if it does not belong to this run.
func recorded(s kind.State) ([]byte, Run, diag.List) {
	r, ds := RunOf(s)
	if ds.HasErrors() {
		return nil, r, ds
	}
	printed, why := r.check(s.Files)
	if why != "" {
		return nil, r, diag.List{diag.Errorf(s.Range, "Generator must be run",
			"%s: %s. Run: fettle generate %s — this runs %s in a sandbox and writes %s. Commit this file.",
			s.ID, why, r.Name, strings.Join(r.Command, " "), s.Files.Source(r.OutputFile()))}
	}
	if len(printed) > maxOutput {
		return nil, r, diag.List{diag.Errorf(s.Range, "Too much is generated",
			"%s has %d bytes, and the limit is %d. Split it with for_each.", s.Files.Source(r.OutputFile()), len(printed),
			maxOutput)}
	}
	return printed, r, nil
}

// Valid returns an error if a path of a run leaves its directory. Runs come from other processes.
func (r Run) Valid() error {
	for _, p := range append(slices.Collect(maps.Keys(r.Files)), r.Directory) {
		if p != path.Clean(p) || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
			return fmt.Errorf("cannot use the path %q: it leads out of the repository", p)
		}
	}
	if !IsName(r.Name) || len(r.Command) == 0 || r.Output != "steps" && r.Output != "json" {
		return fmt.Errorf("cannot run the generator %q: its name or command is invalid", r.Name)
	}
	return nil
}
