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

// Rules is what the verbs know, as pure functions.
type Rules interface {
	// Target is what the step leaves where now was found. An error with a
	// method Needs() addr.Addr is cured by an earlier step that provides that
	// address, one with InTheWay() addr.Addr by a change of that address.
	Target(s step.Step, now image.Image) (image.Image, error)
	// Irreversible says why going from one image to the other cannot be taken
	// back, "" when it can.
	Irreversible(s step.Step, from, to image.Image) string
	// UserName and GroupName turn numbers into names for people.
	UserName(uid uint32) string
	GroupName(gid uint32) string
}

// Input is all that a plan depends on.
type Input struct {
	Operation journal.Operation
	Target    string
	Revision  repo.Revision
	Wanted    step.List
	// AppliedList is the list in force, or its actions alone: nothing else of it
	// counts.
	AppliedList step.List
	Applied     journal.State
	// Observed has an image for every address of Wanted and Applied that owns
	// one; Failed has the error where looking failed.
	Observed map[addr.Addr]image.Image
	Failed   map[addr.Addr]error
	Rules    Rules
	// Kept lists what a tree holds that was kept whole, parents first. Nil where
	// no tree can be restored.
	Kept func(tree string) []Kept
	// Links counts the names of a file at other paths and below them. If it is nil, a plan
	// that removes names does not refuse the file.
	Links func(file string, at []string) uint64
	// Names are what the host has of the sort that is needed: units, users, groups and
	// programs, and for a path the names beside it. They are only for suggestions. Nil
	// where nothing can be suggested.
	Names func(need addr.Addr) []string
	// Missing tells whether the host surely has no such program, path of a program, or
	// unit. Nil where that cannot be told.
	Missing func(need addr.Addr) bool
	// Repair false reports drift instead of repairing it.
	Repair bool
	// Foreign contains directories that the plan may remove or replace. The value is the first
	// path in the directory that fettle did not create, relative to the directory.
	Foreign map[string]string
	// Goal is set for a rollback.
	Goal *Goal
	// SkipBlocked leaves addresses as they are that a rollback cannot restore now.
	// Without it they are errors.
	SkipBlocked bool
	// More says that Wanted is the beginning of what is wanted: what it lacks
	// stays as it is, and so does what has come to a later phase.
	More bool
	// Unreached are paths of steps that the run of Wanted failed before. Wanted lacks
	// them, and no purge takes them away: the run never decided about them.
	Unreached []string
	// Later are the steps of later phases, by address.
	Later map[addr.Addr][]step.Step
}

// Goal is the state that a rollback goes to.
type Goal struct {
	To int // run
	// Entries are the managed addresses then, in order.
	Entries []journal.Entry
	// Before has the before-image that the first run after To found, for the
	// addresses other than files that have changed since.
	Before map[addr.Addr]image.Image
	// Found has, by path, what the first run after To found at each path that
	// runs have changed as a whole since, also as a part of a directory. One with
	// a Tree stands for everything below it.
	Found map[string]image.File
	// Moved has the paths that runs have changed since, also those restored again.
	Moved map[string]bool
	// Edited has, by path, the files of which runs have changed only parts since, and
	// that nothing else has changed.
	Edited map[string]Whole
}

// Make compares. The diagnostics are steps that cannot be reached; with errors
// among them the plan must not be run.
func Make(in Input) (*Plan, diag.List) {
	m := &maker{in: in, now: make(map[addr.Addr]journal.Entry, len(in.Applied.Entries)), wanted: make(map[addr.Addr]bool, len(in.Wanted)),
		changed: map[addr.Addr]bool{}, going: map[string]bool{}, leaves: map[string]image.FileType{}, swept: map[string]bool{}, remain: map[string]bool{}, trees: map[string]string{}, numbers: map[addr.Addr]bool{}, ids: map[string]addr.Addr{}, after: map[string][]Change{}, empties: map[string][]journal.Entry{},
		p: &Plan{Format: 1, Operation: in.Operation, Target: in.Target, Base: in.Applied.Run, Revision: in.Revision, List: in.Wanted.Digest()}}
	if in.Goal != nil {
		m.p.To = in.Goal.To
		m.purgedThen = map[addr.Addr]bool{}
		for _, e := range in.Goal.Entries {
			if e.By != "" {
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
	if !in.More {
		m.removals()
	}
	m.others()
	m.steps()
	m.left()
	if !in.More {
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
	now      map[addr.Addr]journal.Entry // in force
	wanted   map[addr.Addr]bool
	paths    map[string]bool // wanted paths and all their parents
	changed  map[addr.Addr]bool
	numbers  map[addr.Addr]bool // accounts that get another number
	// trees are the paths that come back with all that is below, and where that
	// is kept.
	trees map[string]string
	// purgedThen are the paths that the goal of a rollback had purged.
	purgedThen map[addr.Addr]bool
	ids        map[string]addr.Addr      // the accounts of this list by kind and number
	going      map[string]bool           // files that go with the last region in them
	leaves     map[string]image.FileType // what this plan leaves at paths that it changes
	swept      map[string]bool           // paths that go with everything below them
	remain     map[string]bool           // directories that are removed, but for what others have in them
	// after are changes below a directory that wait for its step, by its path.
	after map[string][]Change
	last  []Change // directories that go, in which the list has something
	// empties are directories that go after a step which removes something from them, by
	// the path of that step.
	empties   map[string][]journal.Entry
	acted     map[addr.Addr]bool
	relinked  bool     // a link that is there changes
	redressed bool     // metadata changes
	unlinks   []string // paths that go with everything in them, as names of hard links
	installs  bool     // a package is installed, or changes
	brings    bool     // a package or command runs, which can bring anything along
	elsewhere bool     // something that is no path changes, which can bring files along
}

func (m *maker) want(a addr.Addr) { m.wanted[a] = true }

// index notes every wanted path with its parents, which purge must leave.
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
	for p, f := range m.in.Goal.Found {
		if f.Type != image.Absent {
			m.hold(p)
		}
	}
}

// hold keeps a path and its parents from being purged.
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

// steps goes through the wanted list in order.
func (m *maker) steps() {
	m.acted = map[addr.Addr]bool{}
	if m.in.Goal != nil {
		for _, e := range m.in.Goal.Entries {
			if e.By != "" {
				m.restorePurged(e)
			}
		}
	}
	for _, s := range m.in.Wanted {
		switch s.Verb {
		case step.Act:
			m.act(s)
		case step.Wait:
			m.elsewhere = true // it waits for what others make
			m.add(Change{Action: Wait, Addr: s.Addr(), Step: s.String(), Source: s.Source, Why: "in its turn"})
		case step.Check, step.Include:
		default:
			m.step(s)
			m.emptied(s)
		}
	}
}

func (m *maker) step(s step.Step) { m.stepBy(s, "") }

// stepBy plans a step; by is the directory whose purge it belongs to.
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
	c := Change{Addr: a, Step: s.String(), Source: s.Source, From: &now, By: by}
	if applied {
		c.Applied = e.Step
	}
	found, givesBack := m.withoutUnsaid(s, m.withoutOurLink(s, now, e), e)
	to, err := m.in.Rules.Target(s, found)
	if then := m.then(a); err != nil && then != nil && then.Unit != nil {
		to, err = m.in.Rules.Target(s, *then) // what is there now may be in the step's way: masked, say
	} else if err != nil && then != nil && m.madeFile(a, *then) {
		to, err = *then, nil
	}
	provided, later := m.later(err)
	if err != nil && (!later || !m.canBring(s, now)) {
		m.refuse(s, by, orRemoved(m.uncured(err), removed))
		return
	}
	if err != nil {
		c.Action, c.Why, c.Then = m.verbFor(s, applied, now), provided, m.then(a)
		c.noted(m.doubt(err))
		m.add(c)
		return
	}
	if err := m.numbered(s); err != nil {
		m.refuse(s, by, err)
		return
	}
	if s.Verb == step.Meta || m.renumbered(s) {
		c.Then = m.then(a)
	}
	if to = m.exact(s, now, to); givesBack {
		c.Then = &to
	}
	c.To, c.Found = &to, s.Verb == step.Edit && m.then(a) != nil
	if dir := m.directoryThen(s, now); dir != nil {
		c.To, c.Found = dir, true
	}
	m.decide(s, c, e, applied)
	m.purge(s, now)
	if tree := givenUp(s, e); tree != "" && absent(now) {
		m.keptBelow(s.Path(), tree)
	}
	m.below(s.Path())
}

// nowAt is what the step finds at its turn, and whether this plan removes it before. ok is
// false if that cannot be told, which is reported.
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
		now = image.Image{Exec: &image.Exec{Unasked: "its guard " + provided}}
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

// givenUp is the kept tree of a directory that was purged from one above it and is
// wanted now without a purge of its own: others' files in it are restored.
func givenUp(s step.Step, e journal.Entry) string {
	if e.By == "" || s.Verb != step.Mkdir || s.Get("purge") == "true" || e.Origin == nil || e.Origin.File == nil {
		return ""
	}
	return e.Origin.File.Tree
}

// left adds what waited for a directory whose step was not planned, and the directories
// that go after the steps in them.
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

// sourceRange reads "file:line".
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

// parse reads a canonical line, which was parsed before it was stored.
func parse(line string) step.Step {
	l, _ := step.Parse("", []byte(line))
	if len(l) != 1 {
		return step.Step{}
	}
	return l[0]
}
