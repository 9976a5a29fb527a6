package image

import (
	"fmt"
	"strings"
)

// Remains is the data of a package that a removal leaves and a purge deletes.
type Remains struct {
	Conffiles []string `json:"conffiles,omitempty"` // existing configuration files, sorted
	// Dirs are directories of the package below /var and /srv, sorted, that contain files from other
	// sources.
	Dirs []string `json:"dirs,omitempty"`
	// Purges reports that a maintainer script of the package runs at a purge, which can delete
	// anything.
	Purges bool `json:"purges,omitempty"`
}

// Empty reports whether a purge deletes nothing more than a removal does.
func (r Remains) Empty() bool { return len(r.Conffiles) == 0 && len(r.Dirs) == 0 && !r.Purges }

// String describes the remaining data, or returns "".
func (r Remains) String() string {
	var parts []string
	if len(r.Conffiles) > 0 {
		parts = append(parts, "configuration in "+some(r.Conffiles))
	}
	if len(r.Dirs) > 0 {
		parts = append(parts, "data in "+some(r.Dirs))
	}
	return strings.Join(parts, " and ")
}

// Stay returns the verb and the pronoun for a sentence about the remaining data.
func (r Remains) Stay() (verb, it string) {
	if len(r.Conffiles) > 0 && len(r.Dirs) > 0 {
		return "stay", "them"
	}
	return "stays", "it"
}

// some returns the first names of a list that may be long.
func some(list []string) string {
	const shown = 4
	if len(list) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
	}
	return strings.Join(list, ", ")
}
