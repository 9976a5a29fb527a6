package explain

import (
	"cmp"
	"context"
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/repo"
)

// explanation is the way from one address to its source.
type explanation struct {
	Addr    addr.Addr `json:"addr"`
	Applied string    `json:"applied,omitempty"` // the step in force
	Wanted  string    `json:"wanted,omitempty"`  // the step that the repository wants
	State   string    `json:"state,omitempty"`
	Source  string    `json:"source,omitempty"` // file:line
	Line    string    `json:"line,omitempty"`   // its text
	// Commit last wrote the line. Without a repository that has the applied commit, it is the
	// commit of Part in the journal.
	Commit *repo.Revision  `json:"commit,omitempty"`
	Part   string          `json:"part,omitempty"`  // "modules/web", "." for the root
	Run    *rundoc.RunInfo `json:"run,omitempty"`   // the run that changed it last
	First  int             `json:"first,omitempty"` // the run that first managed it
	Origin string          `json:"origin,omitempty"`
	By     addr.Addr       `json:"by,omitempty"` // the directory whose purge removed it
	// Deferred names the value of a run that the state waits for.
	Deferred string `json:"deferred,omitempty"`
	// Phases are the states of the address, one after the other, where it has
	// several.
	Phases []phaseDoc `json:"phases,omitempty"`
	phase  int        `json:"-"` // of the applied step, or otherwise of the last wanted one
}

// sourceLine reads the line and its last author, at the applied commit, otherwise in the files as they
// are. If the repository cannot be read, both stay empty.
func (k *known) sourceLine(ctx context.Context, e *explanation, commit string) {
	file, line := splitSource(e.Source)
	if line == 0 || e.Applied != "" && !k.has(ctx, commit) && k.recordedLine(e, file) || k.source == nil {
		return
	}
	tree := k.source.Tree
	if commit == "" {
		commit = k.source.Rev.Commit
	} else if at, _, err := k.source.Repo.At(ctx, commit); err == nil {
		tree = repo.Sub(at, k.source.Prefix)
	}
	if text, err := tree.ReadFile(file); err == nil {
		e.Line = diag.LineAt(text, line)
	}
	if commit == "" {
		return
	}
	if rev, _, err := k.source.Repo.Blame(ctx, commit, path.Join(k.source.Prefix, file), line); err == nil {
		e.Commit = &rev
	}
}

// has tells whether there is a repository with a commit.
func (k *known) has(ctx context.Context, commit string) bool {
	if k.source == nil || commit == "" {
		return false
	}
	_, err := k.source.Repo.Resolve(ctx, commit)
	return err == nil
}

// recordedLine fills in the records of an agent: the text of the line, and the commit of the
// part that has it. It returns false without such a record.
func (k *known) recordedLine(e *explanation, file string) bool {
	part, ok := k.status.State.Revision.PartOf(file)
	if !ok {
		return false
	}
	for _, st := range k.states {
		if st.Source == e.Source && slices.Contains(st.Addrs, e.Addr) {
			e.Line = st.Line
		}
	}
	e.Part = cmp.Or(part.Directory, ".")
	e.Commit = &repo.Revision{Commit: part.Commit, Subject: part.Subject, Author: part.Author, Time: part.Time,
		Branch: part.Branch}
	return true
}

// originText says what was there before fettle, without its content.
func originText(o *image.Image) string {
	if o == nil {
		return "found in sync, never changed"
	}
	return o.Summary()
}

// phaseDoc is one of several states that the repository wants of an address.
type phaseDoc struct {
	Phase  int    `json:"phase"`
	State  string `json:"state,omitempty"`
	Source string `json:"source,omitempty"`
	Step   string `json:"step,omitempty"` // "" while it is held
}
