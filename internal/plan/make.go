package plan

import (
	"errors"
	"maps"
	"path"
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
	// method NotYet() bool that is true may be cured by an earlier step, one
	// with InTheWay() string by a change of that path.
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
	// AppliedList is the list in force, for actions that only it has.
	AppliedList step.List
	Applied     journal.State
	// Observed has an image for every address of Wanted and Applied that owns
	// one; Failed has the error where looking failed.
	Observed map[addr.Addr]image.Image
	Failed   map[addr.Addr]error
	Rules    Rules
	// Repair false reports drift instead of repairing it.
	Repair bool
	// Goal is set for a rollback.
	Goal *Goal
}

// Goal is the state that a rollback goes to.
type Goal struct {
	To int // run
	// Entries are the managed addresses then, in order.
	Entries []journal.Entry
	// Before has the before-image that the first run after To found, for the
	// addresses that have changed since.
	Before map[addr.Addr]image.Image
}

// Make compares. The diagnostics are steps that cannot be reached; with errors
// among them the plan must not be run.
func Make(in Input) (*Plan, diag.List) {
	m := &maker{in: in, now: map[addr.Addr]journal.Entry{}, wanted: map[addr.Addr]bool{}, changed: map[addr.Addr]bool{}, going: map[string]bool{}, trees: map[string]bool{}, numbers: map[addr.Addr]bool{},
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
	m.removals()
	m.steps()
	m.staleActs()
	m.checks()
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
	// trees are the paths that come back with all that is below.
	trees map[string]bool
	// purgedThen are the paths that the goal of a rollback had purged.
	purgedThen map[addr.Addr]bool
	going      map[string]bool // files that go with the last region in them
	acted      map[addr.Addr]bool
	brings     bool // a package or command runs, which can bring anything along
}

func (m *maker) want(a addr.Addr) { m.wanted[a] = true }

// index notes every wanted path with its parents, which purge must leave.
func (m *maker) index() {
	m.paths = map[string]bool{}
	for _, s := range m.in.Wanted {
		if s.Verb == step.Rm {
			continue
		}
		for p := s.Path(); p != "" && p != "/" && p != "." && !m.paths[p]; p = path.Dir(p) {
			m.paths[p] = true
		}
	}
}

func (m *maker) add(c Change) {
	if c.Action.Mutates() {
		m.changed[c.Addr] = true
		if c.To != nil && c.To.File != nil && c.To.File.Tree != "" {
			m.trees[c.Addr.Path()] = true
		}
		if renumbers(c) {
			m.numbers[c.Addr] = true
		}
		k := c.Addr.Kind()
		m.brings = m.brings || k == addr.KindExec || k == addr.KindPkg && c.Action != Remove
	}
	m.p.Changes = append(m.p.Changes, c)
}

// removals takes back what is no longer wanted, last applied first.
func (m *maker) removals() {
	for i := len(m.in.Applied.Entries) - 1; i >= 0; i-- {
		e := m.in.Applied.Entries[i]
		if m.wanted[e.Addr] || m.purgedThen[e.Addr] || e.By != "" && m.purging(e.By) {
			continue
		}
		m.remove(e)
	}
}

// purging tells whether a directory with purge is still wanted.
func (m *maker) purging(dir addr.Addr) bool {
	for _, s := range m.in.Wanted {
		if s.Verb == step.Mkdir && s.Addr() == dir {
			return s.Get("purge") == "true"
		}
	}
	return false
}

func (m *maker) remove(e journal.Entry) {
	c := Change{Action: Remove, Addr: e.Addr, Applied: e.Step, Source: e.Src, Why: "no longer in the list"}
	if m.in.Goal != nil {
		c.Why = "not managed " + m.when()
	}
	if e.Origin == nil {
		c.Action, c.Why = Forget, c.Why+"; it was like this before fettle, so it stays"
		m.add(c)
		return
	}
	if err := m.in.Failed[e.Addr]; err != nil {
		m.problem(e.Src, e.Step, err)
		return
	}
	s := parse(e.Step)
	from, to := m.in.Observed[e.Addr], *e.Origin
	if s.Verb == step.Exec {
		m.removeExec(c, s)
		return
	}
	c.From, c.To = &from, &to
	if dir := m.purgedBy(e.Addr); dir != "" && to.File != nil && to.File.Type != image.Absent {
		c.Action, c.By, c.Step = Purge, dir, step.Step{Verb: step.Rm, Args: []string{e.Addr.Path()}}.String()
		c.To = &image.Image{File: &image.File{Type: image.Absent}}
		c.Why += ", and its directory is purged"
	}
	c.Differences = m.differences(*c.From, *c.To)
	if putBack(from, *c.To) {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	}
	if to.Region != nil && to.Region.FileAbsent {
		m.going[e.Addr.Path()] = true
	}
	m.add(c)
}

// putBack tells whether what is there is what was captured then, to the time of
// its last change. A directory's time follows from what happens in it.
func putBack(now, then image.Image) bool {
	return now.Same(then) && (then.File == nil || then.File.Type == image.Directory || then.File.MTime == 0 || now.File.MTime == then.File.MTime)
}

func (m *maker) when() string {
	if m.in.Goal.To == 0 {
		return "before fettle"
	}
	return "after run " + strconv.Itoa(m.in.Goal.To)
}

func (m *maker) purgedBy(a addr.Addr) addr.Addr {
	if dir := addr.File(path.Dir(a.Path())); a.Kind() == addr.KindFile && m.purging(dir) {
		return dir
	}
	return ""
}

func (m *maker) removeExec(c Change, s step.Step) {
	c.From = &image.Image{Exec: &image.Exec{Known: true, Done: true}}
	c.To = &image.Image{Exec: &image.Exec{Known: true}}
	if s.Get("undo") == "" {
		c.Action = Forget
		c.Irreversible = "the command has no undo, so what it did stays"
	}
	m.add(c)
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
		case step.Check, step.Include:
		default:
			m.step(s)
		}
	}
}

func (m *maker) restorePurged(e journal.Entry) {
	s := parse(e.Step)
	s.Source = e.Src
	m.stepBy(s, e.By)
}

func (m *maker) step(s step.Step) { m.stepBy(s, "") }

// stepBy plans a step; by is the directory whose purge it belongs to.
func (m *maker) stepBy(s step.Step, by addr.Addr) {
	a := s.Addr()
	hidden := m.behindLink(s)
	if err := m.in.Failed[a]; err != nil && !hidden && !m.later(err) {
		m.problem(s.Source, s.String(), err)
		return
	}
	now := m.withoutOurs(s, m.in.Observed[a])
	if hidden {
		now = notThere(s)
	}
	e, applied := m.now[a]
	c := Change{Addr: a, Step: s.String(), Source: s.Source, From: &now, By: by}
	if applied {
		c.Applied = e.Step
	}
	to, err := m.in.Rules.Target(s, m.metaThen(s, m.withoutOurLink(s, now, e)))
	if then := m.then(a); err != nil && then != nil && then.Unit != nil {
		to, err = m.in.Rules.Target(s, *then) // what is there now may be in the step's way: masked, say
	}
	if err != nil && !m.later(err) {
		m.problem(s.Source, s.String(), err)
		return
	}
	if err != nil {
		c.Action, c.Why = m.verbFor(s, applied, now), "an earlier step makes what it needs"
		c.Then = m.then(a)
		m.add(c)
		return
	}
	if s.Verb == step.Meta || m.renumbered(s) {
		c.Then = m.then(a)
	}
	to = m.exact(s, now, to)
	c.To = &to
	m.decide(s, c, e, applied)
	m.purge(s, now)
}

// metaThen is what META finds, with the metadata that a rollback's goal had.
func (m *maker) metaThen(s step.Step, now image.Image) image.Image {
	if before := m.then(s.Addr()); before != nil && s.Verb == step.Meta {
		return Redressed(now, *before)
	}
	return now
}

// Redressed is a path as it is now with the metadata that META can set as it was
// then. Capabilities and the like belong to the content and stay.
func Redressed(now, then image.Image) image.Image {
	if now.File == nil || then.File == nil || now.File.Type != then.File.Type {
		return now
	}
	f := *now.File
	f.UID, f.GID, f.Mode, f.Attrs = then.File.UID, then.File.GID, then.File.Mode, then.File.Attrs
	f.Xattrs = maps.Clone(f.Xattrs)
	delete(f.Xattrs, accessACL)
	if acl, ok := then.File.Xattrs[accessACL]; ok {
		if f.Xattrs == nil {
			f.Xattrs = map[string][]byte{}
		}
		f.Xattrs[accessACL] = acl
	}
	return image.Image{File: &f}
}

// accessACL is where the kernel shows an access ACL.
const accessACL = "system.posix_acl_access"

// exact prefers the very image that a rollback's goal had.
func (m *maker) exact(s step.Step, now, to image.Image) image.Image {
	before := m.then(s.Addr())
	if before == nil || s.Verb == step.Meta {
		return to
	}
	if f := before.File; f != nil && f.Tree != "" && s.Verb == step.Mkdir && s.Get("purge") != "true" && now.File != nil && now.File.Type != image.Directory {
		whole := *to.File // with all that others had in it
		whole.Tree, whole.MTime, whole.Xattrs, whole.Attrs = f.Tree, f.MTime, f.Xattrs, f.Attrs
		return image.Image{File: &whole}
	}
	if t, err := m.in.Rules.Target(s, *before); err == nil && t.Same(*before) {
		return *before
	}
	return to
}

// then is what a rollback's goal had at an address, nil where nobody knows.
func (m *maker) then(a addr.Addr) *image.Image {
	if m.in.Goal == nil {
		return nil
	}
	if before, ok := m.in.Goal.Before[a]; ok {
		return &before
	}
	return nil
}

// underneath tells whether the file that a step works in changes before it, or a
// tree comes back around it, so that what was observed says nothing.
func (m *maker) underneath(s step.Step) bool {
	p := s.Path()
	if (s.Verb == step.Edit || s.Verb == step.Meta) && m.changed[addr.File(p)] || s.Addr().Kind() == addr.KindFile && m.changed[addr.New(addr.KindMeta, p)] {
		return true
	}
	for len(m.trees) > 0 && p != "" && p != "/" && p != "." {
		if p = path.Dir(p); m.trees[p] {
			return true
		}
	}
	return false
}

// renumbered tells whether a name in the step gets another number before it.
func (m *maker) renumbered(s step.Step) bool {
	if len(m.numbers) == 0 {
		return false
	}
	_, acl := s.Lookup("acl")
	return acl || m.numbers[addr.New(addr.KindUser, s.Get("owner"))] || m.numbers[addr.New(addr.KindGroup, s.Get("group"))]
}

// renumbers tells whether a change gives an account that is there another number.
func renumbers(c Change) bool {
	switch {
	case c.From == nil || c.To == nil:
		return false
	case c.From.User != nil && c.To.User != nil:
		return c.From.User.Present && c.From.User.UID != c.To.User.UID
	case c.From.Group != nil && c.To.Group != nil:
		return c.From.Group.Present && c.From.Group.GID != c.To.Group.GID
	}
	return false
}

func (m *maker) decide(s step.Step, c Change, e journal.Entry, applied bool) {
	same := c.From.Same(*c.To)
	if m.in.Goal != nil {
		same = putBack(*c.From, *c.To)
	}
	if s.Verb == step.Exec && !c.From.Exec.Known {
		same = applied && e.Step == c.Step
	}
	switch {
	case same && (m.underneath(s) || m.renumbered(s)):
		c.Action, c.Why = m.verbFor(s, true, *c.From), "as wanted now; a step before it changes what it is about"
		c.Differences = nil
		m.add(c)
		return
	case same && m.unsettled(*c.From):
		c.Action, c.Why = m.verbFor(s, true, *c.From), "as wanted now; a package or command before it may change that"
		c.Differences = nil
		m.add(c)
		return
	case same && applied && e.Step == c.Step:
		m.p.Unchanged++
		return
	case same:
		c.Action, c.Why = Adopt, "already as wanted"
		c.Differences = nil
		m.add(c)
		return
	}
	c.Drifted = applied && m.drifted(e, *c.From)
	c.Action, c.Why = m.verbFor(s, applied, *c.From), why(s, applied, e, c)
	if m.in.Goal != nil {
		c.Why = "as it was " + m.when()
	}
	if c.Drifted && e.Step == c.Step && m.in.Goal == nil {
		c.Action = Repair
		if !m.in.Repair {
			c.Action = Drift
		}
	}
	c.Differences = m.differences(*c.From, *c.To)
	if m.in.Goal == nil || c.From.Package == nil { // a rollback asks only for the version that comes back
		c.Irreversible = m.in.Rules.Irreversible(s, *c.From, *c.To)
	}
	if f := c.From.File; f != nil && f.Nlink > 1 && f.Type == image.Regular {
		c.Note = "it has " + strconv.FormatUint(f.Nlink, 10) + " hard links"
	}
	m.add(c)
}

// unsettled tells whether something that is not there, as wanted, may come with
// a package or command of this plan: only the run can tell, after those.
func (m *maker) unsettled(now image.Image) bool {
	return m.brings && (absent(now) || now.Unit != nil && !now.Unit.Loaded)
}

func why(s step.Step, applied bool, e journal.Entry, c Change) string {
	switch {
	case applied && e.Step != c.Step && c.Drifted:
		return "the list changed; it had also drifted"
	case applied && e.Step != c.Step:
		return "the list changed"
	case applied:
		return "it is not as it was applied"
	case s.Absent():
		return "must not be there"
	}
	return "new in the list"
}

func (m *maker) verbFor(s step.Step, applied bool, now image.Image) Action {
	switch {
	case m.in.Goal != nil:
		return Restore
	case s.Verb == step.Exec:
		return Run
	case !applied && absent(now):
		return Create
	}
	return Update
}

func absent(i image.Image) bool {
	switch {
	case i.File != nil:
		return i.File.Type == image.Absent
	case i.Region != nil:
		return !i.Region.Present
	case i.User != nil:
		return !i.User.Present
	case i.Group != nil:
		return !i.Group.Present
	case i.Member != nil:
		return !i.Member.Present
	case i.Package != nil:
		return i.Package.Version == ""
	}
	return false
}

// drifted tells whether the address is not as the applied step left it.
func (m *maker) drifted(e journal.Entry, now image.Image) bool {
	s := parse(e.Step)
	if s.Verb == step.Exec {
		return now.Exec != nil && now.Exec.Known && !now.Exec.Done
	}
	t, err := m.in.Rules.Target(s, now)
	return err != nil || !t.Same(now)
}

// later tells whether an error may be cured by a change that comes before.
func (m *maker) later(err error) bool {
	var w interface{ InTheWay() string }
	if errors.As(err, &w) {
		return m.changed[addr.File(w.InTheWay())]
	}
	var n interface{ NotYet() bool }
	return len(m.changed) > 0 && errors.As(err, &n) && n.NotYet()
}

// withoutOurs leaves entries out of a directory's image that this plan removes,
// so that a file can follow on a directory of ours.
func (m *maker) withoutOurs(s step.Step, now image.Image) image.Image {
	if s.Verb == step.Mkdir || now.File == nil || len(now.File.Entries) == 0 {
		return now
	}
	f := *now.File
	f.Entries = nil
	if before := m.then(s.Addr()); before != nil && before.File != nil && before.File.Type != image.Directory {
		return image.Image{File: &f} // a rollback takes the directory whole
	}
	for _, name := range now.File.Entries {
		if p := path.Join(s.Path(), name); !m.changed[addr.File(p)] && !m.going[p] {
			f.Entries = append(f.Entries, name)
		}
	}
	return image.Image{File: &f}
}

// withoutOurLink leaves out a link that is just as we made it, so that a
// directory can follow on it, and one that a rollback finds where a directory
// was. Somebody else's link stays in the way.
func (m *maker) withoutOurLink(s step.Step, now image.Image, e journal.Entry) image.Image {
	if s.Verb != step.Mkdir || now.File == nil || now.File.Type != image.Symlink {
		return now
	}
	nothing := image.Image{File: &image.File{Type: image.Absent}}
	if before := m.then(s.Addr()); before != nil && before.File != nil && before.File.Type == image.Directory {
		return nothing // a rollback to where a directory was
	}
	if e.Origin == nil {
		return now
	}
	if old := parse(e.Step); old.Verb != step.Link || m.drifted(e, now) {
		return now
	}
	return nothing
}

// behindLink tells whether a step's path leads through a link that this plan
// replaces: what was observed behind it is another file.
func (m *maker) behindLink(s step.Step) bool {
	p := s.Path()
	if p == "" {
		return false
	}
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		if f := m.in.Observed[a].File; f != nil && f.Type == image.Symlink && m.changed[a] {
			return true
		}
	}
	return false
}

// notThere is what a path's step finds where nothing is.
func notThere(s step.Step) image.Image {
	if s.Verb == step.Edit {
		return image.Image{Region: &image.Region{FileAbsent: true}}
	}
	return image.Image{File: &image.File{Type: image.Absent}}
}

// purge removes what nobody wants from a directory that says so.
func (m *maker) purge(s step.Step, now image.Image) {
	if s.Verb != step.Mkdir || s.Get("purge") != "true" || now.File == nil {
		return
	}
	for _, name := range now.File.Entries {
		p := path.Join(s.Path(), name)
		a := addr.File(p)
		if m.paths[p] || m.changed[a] {
			continue
		}
		c := Change{Action: Purge, Addr: a, By: s.Addr(), Source: s.Source,
			Step: step.Step{Verb: step.Rm, Args: []string{p}}.String(),
			Why:  "no step writes it, and its directory is purged"}
		if m.now[s.Addr()].Step == s.String() && !m.in.Repair {
			c.Action, c.Drifted = Drift, true // it came after the directory was applied
		}
		m.add(c)
	}
}

// act plans a lazy action when something that notifies it changes, or when it
// is still pending from an earlier run.
func (m *maker) act(s step.Step) {
	a := s.Addr()
	cause := m.causes(s)
	if !m.acted[a] {
		for _, old := range m.in.AppliedList {
			if old.Verb == step.Act && old.Addr() == a {
				cause = union(cause, m.causes(old))
			}
		}
	}
	why := "notified by " + names(cause)
	if p, ok := m.pending(a); ok && !m.acted[a] {
		if len(cause) == 0 {
			why = "still pending from run " + strconv.Itoa(p.Run)
		}
		cause = union(cause, p.Cause)
	}
	if len(cause) == 0 {
		return
	}
	m.acted[a] = true
	m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Why: why, Cause: cause})
}

func (m *maker) causes(s step.Step) []addr.Addr {
	var out []addr.Addr
	for _, on := range s.All("on") {
		if a := addr.Addr(on); m.changed[a] {
			out = append(out, a)
		}
	}
	return out
}

func (m *maker) pending(a addr.Addr) (journal.PendingAct, bool) {
	for _, p := range m.in.Applied.Pending {
		if p.Addr == a {
			return p, true
		}
	}
	return journal.PendingAct{}, false
}

// staleActs plans actions that only the list in force has: what it made is
// going, and whoever read it has to be told.
func (m *maker) staleActs() {
	olds := m.in.AppliedList
	for _, p := range m.in.Applied.Pending {
		olds = append(olds[:len(olds):len(olds)], parse(p.Step))
	}
	for _, s := range olds {
		a := s.Addr()
		if s.Verb != step.Act || m.wanted[a] || m.acted[a] {
			continue
		}
		cause, why := m.causes(s), ""
		if why = "notified by " + names(cause); len(cause) == 0 {
			p, ok := m.pending(a)
			if !ok {
				continue
			}
			cause, why = p.Cause, "still pending from run "+strconv.Itoa(p.Run)
		}
		m.acted[a] = true
		m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Cause: cause, Why: why, Stale: true})
	}
}

func (m *maker) checks() {
	for _, s := range m.in.Wanted {
		if s.Verb == step.Check {
			m.add(Change{Action: Verify, Addr: s.Addr(), Step: s.String(), Source: s.Source, Why: "verified after the run"})
		}
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

func union(a, b []addr.Addr) []addr.Addr {
	for _, x := range b {
		if !contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

func contains(l []addr.Addr, a addr.Addr) bool {
	for _, x := range l {
		if x == a {
			return true
		}
	}
	return false
}

func names(l []addr.Addr) string {
	s := make([]string, len(l))
	for i, a := range l {
		s[i] = string(a)
	}
	return strings.Join(s, ", ")
}
