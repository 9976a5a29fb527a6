// Package repo reads repositories: git commits without touching their work
// tree, and work trees with their uncommitted changes.
//
//	r, err := repo.Open(ctx, ".")           // and defer r.Close()
//	tree, rev, err := r.At(ctx, "main")     // or r.WorkTree(ctx)
//	text, err := tree.ReadFile("fettle.hcl")
//
// Content is data: nothing of a repository is ever run or checked out here, and
// no name, link or submodule in it leads out of it.
package repo

import (
	"io"
	"strings"
)

// Entry is one name in a tree.
type Entry struct {
	Path string // slash path from the repository's top
	Type EntryType
	Exec bool  // the executable bit, all that git keeps of a mode
	Size int64 // bytes; 0 for directories
}

// EntryType is the type of an entry in git. Submodules and unusual modes have no type, because they
// are refused when a tree is opened.
type EntryType uint8

// The types of entries.
const (
	File EntryType = iota
	Dir
	Symlink
)

// Tree is the files of one revision. Paths are slash paths relative to the top, "." is the top
// itself; a path that leaves the tree is an error. Symbolic links are entries and are not followed.
// A Tree is immutable and safe for concurrent use.
type Tree interface {
	// ReadFile reads a whole file. Files above 32 MiB are an error: use Open.
	ReadFile(path string) ([]byte, error)
	Open(path string) (io.ReadCloser, error)
	Stat(path string) (Entry, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(path string) ([]Entry, error)
	Readlink(path string) (string, error)
	// Digest is "sha256:hex" of a file's content, with its size in bytes.
	Digest(path string) (string, int64, error)
}

// Revision identifies the state of a repository that a tree has.
type Revision struct {
	Commit  string `json:"commit,omitempty"`  // 40 hex digits; "" without git
	Subject string `json:"subject,omitempty"` // first line of its message
	Author  string `json:"author,omitempty"`  // name <mail>
	Time    int64  `json:"time,omitempty"`    // committer time, seconds since 1970
	Branch  string `json:"branch,omitempty"`  // the requested branch, if a branch was requested
	Dirty   bool   `json:"dirty,omitempty"`   // contains uncommitted changes
	// Digest names the content itself, uncommitted changes included.
	Digest string `json:"digest"`
	// Parts has the commit of each part of a tree that was composed, as on a host of a
	// fleet: the root first. Commit is then the commit of the assignment.
	Parts []PartRevision `json:"parts,omitempty"`
}

// PartRevision is the revision of a part of a composed tree. A later commit that does not change
// the part leaves it.
type PartRevision struct {
	Directory string `json:"directory,omitempty"` // "modules/web"; "" for the root
	Commit    string `json:"commit"`
	Subject   string `json:"subject,omitempty"`
	Author    string `json:"author,omitempty"` // "" if unknown
	Time      int64  `json:"time,omitempty"`   // committer time, seconds since 1970
	Branch    string `json:"branch,omitempty"`
}

// PartOf is the part that a path of the tree belongs to. ok is false for a revision without
// parts.
func (r *Revision) PartOf(path string) (part PartRevision, ok bool) {
	for _, p := range r.Parts {
		if p.Directory == "" || strings.HasPrefix(path, p.Directory+"/") {
			if !ok || len(p.Directory) > len(part.Directory) {
				part, ok = p, true
			}
		}
	}
	return part, ok
}
