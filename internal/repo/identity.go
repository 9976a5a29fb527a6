package repo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Identity distinguishes repositories, across clones, moves and branches. Unknown parts are empty.
// The zero value is an unknown repository.
type Identity struct {
	Name string `json:"name,omitempty"` // its declared name
	// Root is the smallest hash of the commits without parents in its history. Clones and branches
	// have the same root. It is unknown in a shallow clone.
	Root      string `json:"root,omitempty"`
	Directory string `json:"folder,omitempty"` // its directory in the git repository; "" for the top
	Dir       string `json:"dir,omitempty"`    // its absolute directory when it was read
	Fleet     string `json:"fleet,omitempty"`  // the fleet whose hub followed it, and its name there
}

// Likeness is the result of comparing two identities.
type Likeness uint8

// The results of a comparison of two identities.
const (
	Unknown Likeness = iota // they have nothing in common that decides
	Same
	Other
)

// Compare reports whether two identities belong to the same repository. Declared names decide
// first, then root commits. Directories decide only if all other parts are unknown.
func (a Identity) Compare(b Identity) Likeness {
	switch {
	case a.Name != "" && b.Name != "":
		return likeness(a.Name == b.Name)
	case a.Root != "" && b.Root != "":
		return likeness(a.Root == b.Root && a.Directory == b.Directory)
	case a.Fleet != "" && a.Fleet == b.Fleet, a.Dir != "" && a.Dir == b.Dir:
		return Same
	case a.onlyDir() && b.onlyDir():
		return Other
	}
	return Unknown
}

func likeness(same bool) Likeness {
	if same {
		return Same
	}
	return Other
}

// onlyDir reports whether only the directory and possibly the name are known.
func (a Identity) onlyDir() bool { return a.Root == "" && a.Fleet == "" && a.Dir != "" }

// Over returns a, with unknown parts replaced from an earlier identity of the same repository.
func (a Identity) Over(earlier Identity) Identity {
	if a.Root == "" {
		a.Root, a.Directory = earlier.Root, earlier.Directory
	}
	if a.Dir == "" {
		a.Dir = earlier.Dir
	}
	if a.Fleet == "" {
		a.Fleet = earlier.Fleet
	}
	return a
}

// String names the repository for users.
func (a Identity) String() string {
	text := "an unknown repository"
	switch {
	case a.Name != "":
		text = fmt.Sprintf("the repository %q", a.Name)
	case a.onlyDir():
		text = "the repository"
	case a.Root != "":
		text = "the repository with the root commit " + a.Root[:min(12, len(a.Root))]
		if a.Directory != "" {
			text += " and the directory " + a.Directory
		}
	case a.Fleet != "":
		text = fmt.Sprintf("the repository of the fleet %q", a.Fleet)
	}
	if a.Dir != "" {
		text += " in " + a.Dir
	}
	return text
}

// Identity returns the identity of the directory directory of the repository ("." for the top) at a
// commit; "" for files without a commit. It reads the history, so callers should cache the result.
func (r *Repo) Identity(ctx context.Context, commit, directory string) (Identity, error) {
	id := Identity{}
	if directory != "." {
		id.Directory = directory
	}
	if !r.bare {
		id.Dir = filepath.Join(r.top, directory)
	}
	if r.git == nil || commit == "" {
		return Identity{Dir: id.Dir}, nil
	}
	if err := r.ready(ctx); err != nil {
		return Identity{}, err
	}
	shallow, err := r.git.output(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return Identity{}, fmt.Errorf("cannot tell which repository this is: %w", err)
	}
	if strings.TrimSpace(shallow) != "false" {
		return Identity{Dir: id.Dir}, nil
	}
	out, err := r.git.output(ctx, "rev-list", "--max-parents=0", commit, "--")
	if err != nil {
		return Identity{}, fmt.Errorf("cannot tell which repository this is: %w", err)
	}
	if roots := strings.Fields(out); len(roots) > 0 {
		id.Root = slices.Min(roots)
	}
	return id, nil
}
