package agent

import (
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// Authors is an optional ability of a Content: it returns the authors of commits.
type Authors interface {
	// Author returns the author of the commit of a part as "name <mail>", "" if unknown.
	Author(as fleet.Assigned) string
}

// revisionOf returns the revision for the history: the assigned commit of the root bundle, and the
// commits of all parts in the run.
func (r *Runner) revisionOf(a fleet.Assignment, digest string) repo.Revision {
	known := map[string]string{} // authors by commit, because many parts have the same commit
	var parts []repo.PartRevision
	for _, as := range slices.Concat([]fleet.Assigned{a.Root}, a.Modules) {
		v := as.Revision
		author, ok := known[v.Commit]
		if !ok {
			author = r.author(as)
			known[v.Commit] = author
		}
		parts = append(parts, repo.PartRevision{Directory: as.Module, Commit: v.Commit, Subject: v.Subject, Author: author,
			Time: v.Time, Branch: v.Branch})
	}
	top := parts[0]
	return repo.Revision{Commit: top.Commit, Subject: top.Subject, Author: top.Author, Time: top.Time,
		Branch: top.Branch, Digest: digest, Parts: parts}
}

func (r *Runner) author(as fleet.Assigned) string {
	if c, ok := r.Content.(Authors); ok {
		return c.Author(as)
	}
	return ""
}

// longestLine is the maximum length of the text of a source line, in bytes.
const longestLine = 200

// addLines adds the text of their source lines to states. A host of a fleet has no
// repository to read them from later. A file that cannot be read has no lines.
func addLines(tree repo.Tree, states []executor.StateRef) {
	texts := map[string][]string{}
	for i, st := range states {
		file, place, ok := strings.Cut(st.Source, ":")
		line, err := strconv.Atoi(place)
		if !ok || err != nil {
			continue
		}
		text, ok := texts[file]
		if !ok {
			b, _ := tree.ReadFile(file)
			text = strings.Split(string(b), "\n")
			texts[file] = text
		}
		if line >= 1 && line <= len(text) {
			states[i].Line = clipLine(text[line-1])
		}
	}
}

func clipLine(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= longestLine {
		return s
	}
	return strings.ToValidUTF8(s[:longestLine], "") + "…"
}
