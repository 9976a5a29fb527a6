package plan

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Rules are the decisions of the verbs, as pure functions.
type Rules interface {
	// Target returns the image that the step produces from the image now. An earlier step that
	// provides err.Needs() can remove an error with this method; a change of err.InTheWay() can remove
	// an error with that method. Both methods return an addr.Addr.
	Target(s step.Step, now image.Image) (image.Image, error)
	// Irreversible returns why the change between two images cannot be undone, or "".
	Irreversible(s step.Step, from, to image.Image) string
	// UserName and GroupName return the names of numeric IDs, for display.
	UserName(uid uint32) string
	GroupName(gid uint32) string
}

// Input is the complete input of Make.
type Input struct {
	Operation journal.Operation
	Target    string
	Revision  repo.Revision
	Wanted    step.List
	// AppliedList is the applied list. Only its actions are used.
	AppliedList step.List
	Applied     journal.State
	// Observed has an image for every address of Wanted and Applied that has one. Failed has the error
	// of each failed observation.
	Observed map[addr.Addr]image.Image
	Failed   map[addr.Addr]error
	Rules    Rules
	// StoredTree returns the paths of a stored tree, parents first. It is nil if no tree can be restored.
	StoredTree func(tree string) []TreeFile
	// Links counts the names of a file at other paths and below them. If it is nil, a plan
	// that removes names does not refuse the file.
	Links func(file string, at []string) uint64
	// Names returns existing names of the type of need, only for suggestions: units, users, groups,
	// programs, or for a path its siblings. It is nil if there are no suggestions.
	Names func(need addr.Addr) []string
	// Missing reports whether the host certainly does not have a program or unit. It is nil if
	// this is unknown.
	Missing func(need addr.Addr) bool
	// Repair repairs drift; otherwise drift is only reported.
	Repair bool
	// ForeignPaths contains directories that the plan may remove or replace. The value is the first
	// path in the directory that fettle did not create, relative to the directory.
	ForeignPaths map[string]string
	// Goal is set for a rollback.
	Goal *Goal
	// SkipBlocked leaves addresses unchanged that a rollback cannot restore now. Otherwise they are
	// errors.
	SkipBlocked bool
	// MorePhases reports that Wanted is only the first part of the list. Missing addresses stay unchanged,
	// and so do addresses in a later phase.
	MorePhases bool
	// Unreached are the paths of steps that a failed run of Wanted did not reach. Wanted does not
	// contain them, and no purge removes them.
	Unreached []string
	// Later are the steps of later phases, by address.
	Later map[addr.Addr][]step.Step
}

// Goal is the state that a rollback restores.
type Goal struct {
	To int // run
	// Entries are the managed addresses of that state, in order.
	Entries []journal.Entry
	// ImagesBefore has the image that the first run after To found, for changed addresses other than files.
	ImagesBefore map[addr.Addr]image.Image
	// FilesBefore has, by path, the image that the first run after To found. It contains each path whose
	// whole object was changed since, directly or as a part of a directory. An image with a Tree
	// includes everything below its path.
	FilesBefore map[string]image.File
	// Moved has the paths that runs have changed since, including paths that were restored again.
	Moved map[string]bool
	// Unmanaged has the paths that a rollback does not change. They were absent at the goal, and other
	// users have changed them since their release.
	Unmanaged map[string]bool
	// Edited has, by path, the files of which runs since have changed only parts, and which are
	// otherwise unchanged.
	Edited map[string]WholeFile
}

// Make compares the list with the applied and the observed state. The diagnostics are steps that
// cannot be executed; if they contain errors, the plan must not be run.
func Make(in Input) (*Plan, diag.List) {
	m := &maker{in: in, now: make(map[addr.Addr]journal.Entry, len(in.Applied.Entries)), wanted: make(map[addr.Addr]bool, len(in.Wanted)),
		changed: map[addr.Addr]bool{}, going: map[string]bool{}, leaves: map[string]image.FileType{}, swept: map[string]bool{}, remain: map[string]bool{}, trees: map[string]string{}, numbers: map[addr.Addr]bool{}, ids: map[string]addr.Addr{}, after: map[string][]Change{}, empties: map[string][]journal.Entry{},
		p: &Plan{Format: 1, Operation: in.Operation, Target: in.Target, Base: in.Applied.Run, Revision: in.Revision, List: in.Wanted.Digest()}}
	if in.Goal != nil {
		m.p.To = in.Goal.To
		m.purgedThen = map[addr.Addr]bool{}
		for _, e := range in.Goal.Entries {
			if e.PurgedBy != "" {
				m.purgedThen[e.Addr] = true
			}
		}
	}
	for _, e := range in.Applied.Entries {
		m.now[e.Addr] = e
	}
	for _, s := range in.Wanted {
		m.want(s.Addr())
	}
	m.index()
	if !in.MorePhases {
		m.removals()
	}
	m.others()
	m.steps()
	m.left()
	if !in.MorePhases {
		m.staleActs()
		m.untoldActs()
	}
	m.idleWaits()
	m.checks()
	m.whole()
	return m.p, m.problems
}

type maker struct {
	in       Input
	p        *Plan
	problems diag.List
	now      map[addr.Addr]journal.Entry // the applied entries
	wanted   map[addr.Addr]bool
	paths    map[string]bool // the paths of the list and all of their parents
	changed  map[addr.Addr]bool
	numbers  map[addr.Addr]bool // accounts that get another number
	// trees are the paths that are restored with all content below, with the digest of the stored
	// tree.
	trees map[string]string
	// purgedThen are the paths that the goal of a rollback had purged.
	purgedThen map[addr.Addr]bool
	ids        map[string]addr.Addr      // the accounts of this list by kind and number
	going      map[string]bool           // files that are removed with their last region
	leaves     map[string]image.FileType // the type that this plan leaves at each changed path
	swept      map[string]bool           // paths that are removed with everything below them
	remain     map[string]bool           // removed directories that stay for the files of others in them
	// after are the changes below a directory that wait for its step, by its path.
	after map[string][]Change
	last  []Change // directories to remove in which the list has a path
	// empties are directories whose removal waits for a step that removes a path in them, by the path
	// of that step.
	empties   map[string][]journal.Entry
	acted     map[addr.Addr]bool
	relinked  bool     // an existing link changes
	redressed bool     // metadata changes
	unlinks   []string // paths that are removed with everything in them, as names of hard links
	installs  bool     // a package is installed, or changes
	brings    bool     // a package or command runs, which can create any file
	elsewhere bool     // another change than a path runs, which can create files
}

func (m *maker) want(a addr.Addr) { m.wanted[a] = true }

// index records every path of the list with its parents; a purge must keep these.
func (m *maker) index() {
	m.paths = make(map[string]bool, len(m.in.Wanted))
	for _, s := range m.in.Wanted {
		if s.Verb == step.Rm {
			continue
		}
		m.hold(s.Path())
	}
	for _, p := range m.in.Unreached {
		m.hold(p)
	}
	if m.in.Goal == nil {
		return
	}
	for p, f := range m.in.Goal.FilesBefore {
		if f.Type != image.Absent {
			m.hold(p)
		}
	}
}

// hold protects a path and its parents from a purge.
func (m *maker) hold(p string) {
	for ; p != "" && p != "/" && p != "." && !m.paths[p]; p = path.Dir(p) {
		m.paths[p] = true
	}
}

func (m *maker) add(c Change) {
	if c.Action.Mutates() {
		m.changed[c.Addr] = true
		if c.To != nil && c.To.File != nil && c.To.File.Tree != "" {
			m.trees[c.Addr.Path()] = c.To.File.Tree
		}
		if renumbers(c) {
			m.numbers[c.Addr] = true
		}
		if removesLinks(c) {
			m.unlinks = append(m.unlinks, c.Addr.Path())
		}
		m.noteLeft(c)
		if f := m.in.Observed[c.Addr].File; f != nil && f.Type == image.Symlink {
			m.relinked = true
		}
		k := c.Addr.Kind()
		m.redressed = m.redressed || k == addr.KindMeta
		m.installs = m.installs || k == addr.KindPkg && c.Action != Remove
		m.brings = m.brings || k == addr.KindExec || m.installs
	}
	m.p.Changes = append(m.p.Changes, c)
}

// steps plans the steps of the list in order.
func (m *maker) steps() {
	m.acted = map[addr.Addr]bool{}
	if m.in.Goal != nil {
		for _, e := range m.in.Goal.Entries {
			_, managed := m.now[e.Addr]
			if e.PurgedBy != "" && (managed || !m.in.Goal.Unmanaged[e.Addr.Path()]) { // a rollback purges nothing
				m.restorePurged(e)
			}
		}
	}
	for _, s := range m.in.Wanted {
		switch s.Verb {
		case step.Act:
			m.act(s)
		case step.Wait:
			m.elsewhere = true // it waits for a condition that other programs cause
			m.add(Change{Action: Wait, Addr: s.Addr(), Step: s.String(), Source: s.Source, Why: "in its turn"})
		case step.Check, step.Include:
		default:
			m.step(s)
			m.emptied(s)
		}
	}
}

func (m *maker) step(s step.Step) { m.stepBy(s, "") }

// stepBy plans a step. by is the directory whose purge includes the step, or "".
func (m *maker) stepBy(s step.Step, by addr.Addr) {
	if m.stepFound(s, by) || m.untouched(s) || m.released(s, by) {
		return
	}
	a := s.Addr()
	now, removed, ok := m.nowAt(s, by)
	if !ok {
		return
	}
	e, applied := m.now[a]
	if m.in.further(s, e, applied) {
		m.p.Unchanged++
		return
	}
	c := Change{Addr: a, Step: s.String(), Source: s.Source, From: &now, PurgedBy: by}
	if applied {
		c.Applied = e.Step
	}
	found, givesBack := m.withoutUnsaid(s, m.withoutOurLink(s, now, e), e)
	to, err := m.in.Rules.Target(s, found)
	if then := m.then(a); err != nil && then != nil && then.Unit != nil {
		to, err = m.in.Rules.Target(s, *then) // the present state can be in the way of the step, such as a masked unit
	} else if err != nil && then != nil && m.madeFile(a, *then) {
		to, err = *then, nil
	}
	provided, later := m.later(err)
	if err != nil && (!later || !m.canBring(s, now)) {
		m.refuse(s, by, orRemoved(m.uncured(err), removed))
		return
	}
	if err != nil {
		c.Action, c.Why, c.Earlier = m.verbFor(s, applied, now), provided, m.then(a)
		c.noted(m.doubt(err))
		m.add(c)
		return
	}
	if err := m.numbered(s); err != nil {
		m.refuse(s, by, err)
		return
	}
	if s.Verb == step.Meta || m.renumbered(s) {
		c.Earlier = m.then(a)
	}
	if to = m.exact(s, now, to); givesBack {
		c.Earlier = &to
	}
	c.To, c.Captured = &to, s.Verb == step.Edit && m.then(a) != nil
	if dir := m.directoryThen(s, now); dir != nil {
		c.To, c.Captured = dir, true
	}
	m.decide(s, c, e, applied)
	m.purge(s, now)
	if tree := givenUp(s, e); tree != "" && absent(now) {
		m.keptBelow(s.Path(), tree)
	}
	m.below(s.Path())
}

// nowAt returns the image that the step finds when it runs, and whether this plan removes the object
// before. ok is false if this is unknown, which is reported.
func (m *maker) nowAt(s step.Step, by addr.Addr) (now image.Image, removed, ok bool) {
	hidden := m.behindLink(s)
	err := m.in.Failed[s.Addr()]
	provided, later := m.later(err)
	if err != nil && !hidden && !later && !m.asRecorded(s) {
		m.refuse(s, by, err)
		return now, false, false
	}
	now = m.withoutOurs(s, m.in.Observed[s.Addr()])
	if s.Verb == step.Exec && err != nil {
		now = image.Image{Exec: &image.Exec{GuardsNotRun: "its guard " + provided}}
	}
	if err := m.uneditable(s); err != nil {
		m.refuse(s, by, err)
		return now, false, false
	}
	removed = m.removed(s)
	if hidden || removed {
		now = notThere(s)
	}
	return now, removed, true
}

// givenUp returns the stored tree of a directory that an earlier list purged from the directory above,
// and that the list now has without purge: the files of others in it are restored.
func givenUp(s step.Step, e journal.Entry) string {
	if e.PurgedBy == "" || s.Verb != step.Mkdir || s.Get("purge") == "true" || e.Origin == nil || e.Origin.File == nil {
		return ""
	}
	return e.Origin.File.Tree
}

// left adds the changes that waited for a directory without a planned step, and the directories that
// are removed after the steps in them.
func (m *maker) left() {
	for _, dir := range slices.Sorted(maps.Keys(m.after)) {
		m.below(dir)
	}
	for _, c := range m.last {
		m.add(c)
	}
}

func (m *maker) problem(source, text string, err error) {
	m.problems = append(m.problems, diag.Diagnostic{
		Summary: "This step cannot be planned", Detail: err.Error(), Range: sourceRange(source), Line: text})
}

// sourceRange parses "file:line".
func sourceRange(source string) diag.Range {
	i := strings.LastIndexByte(source, ':')
	if i < 0 {
		return diag.Range{File: source}
	}
	n, err := strconv.Atoi(source[i+1:])
	if err != nil {
		return diag.Range{File: source}
	}
	return diag.Range{File: source[:i], Start: diag.Pos{Line: n, Column: 1}}
}

// parse parses a canonical line, which was valid when it was stored.
func parse(line string) step.Step {
	l, _ := step.Parse("", []byte(line))
	if len(l) != 1 {
		return step.Step{}
	}
	return l[0]
}
