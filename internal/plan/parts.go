package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// maker plans the steps of a list in order, with parts for all other changes. A part uses only the
// parts above it in newMaker.
type maker struct {
	*forecast
	providers   *providers
	refusals    *refusals
	restoration *restoration
	removals    *removals
	actions     *actions
	ids         map[string]addr.Addr // the accounts of this list by kind and number
}

// newMaker connects the parts for an input.
func newMaker(in Input) *maker {
	f := newForecast(newIndex(in))
	m := &maker{forecast: f, providers: &providers{f}, ids: map[string]addr.Addr{}}
	m.refusals = &refusals{forecast: f, providers: m.providers, paths: map[string]bool{}}
	m.restoration = &restoration{forecast: f, providers: m.providers, refusals: m.refusals, after: map[string][]Change{}}
	m.removals = &removals{forecast: f, refusals: m.refusals, restoration: m.restoration,
		empties: map[string][]journal.Entry{}}
	m.actions = &actions{forecast: f, providers: m.providers, refusals: m.refusals, acted: map[addr.Addr]bool{}}
	return m
}

// index is the input of Make by address. It does not change.
type index struct {
	in     Input
	now    map[addr.Addr]journal.Entry // the applied entries
	wanted map[addr.Addr]bool
	purges map[addr.Addr]bool          // the directories in the list with purge
	goal   map[addr.Addr]journal.Entry // the entries of the goal of a rollback
}

func newIndex(in Input) *index {
	x := &index{in: in, now: byAddr(in.Applied.Entries), wanted: make(map[addr.Addr]bool, len(in.Desired)),
		purges: map[addr.Addr]bool{}}
	for _, s := range in.Desired {
		x.wanted[s.Addr()] = true
		if s.Verb == step.Mkdir && s.Get("purge") == "true" {
			x.purges[s.Addr()] = true
		}
	}
	if in.Goal != nil {
		x.goal = byAddr(in.Goal.Entries)
	}
	return x
}

func byAddr(entries []journal.Entry) map[addr.Addr]journal.Entry {
	out := make(map[addr.Addr]journal.Entry, len(entries))
	for _, e := range entries {
		out[e.Addr] = e
	}
	return out
}

// purgedThen reports whether the goal of a rollback had purged a path.
func (x *index) purgedThen(a addr.Addr) bool { return x.goal[a].PurgedBy != "" }

// forecast is the plan so far, with the effects of its changes on later steps.
type forecast struct {
	*index
	p       *Plan
	changed map[addr.Addr]bool
	numbers map[addr.Addr]bool // accounts that get another number
	// trees are the paths that are restored with all content below, with the digest of the stored
	// tree.
	trees     map[string]string
	going     map[string]bool           // files that are removed with their last region
	leaves    map[string]image.FileType // the type that this plan leaves at each changed path
	swept     map[string]bool           // paths that are removed with everything below them
	made      map[string]bool           // files that a part creates
	remain    map[string]bool           // removed directories that stay for the files of others in them
	relinked  bool                      // an existing link changes
	redressed bool                      // metadata changes
	unlinks   []string                  // paths that are removed with everything in them, as names of hard links
	installs  bool                      // a package is installed, or changes
	brings    bool                      // a package or command runs, which can create any file
	elsewhere bool                      // another change than a path runs, which can create files
}

func newForecast(x *index) *forecast {
	p := &Plan{Format: 1, Operation: x.in.Operation, Target: x.in.Target, Base: x.in.Applied.Run,
		Revision: x.in.Revision, List: x.in.Desired.Digest()}
	if x.in.Goal != nil {
		p.To = x.in.Goal.To
	}
	return &forecast{index: x, p: p, changed: map[addr.Addr]bool{}, numbers: map[addr.Addr]bool{},
		trees: map[string]string{}, going: map[string]bool{}, leaves: map[string]image.FileType{},
		swept: map[string]bool{}, made: map[string]bool{}, remain: map[string]bool{}}
}

// providers finds the changes of the plan so far that can provide a missing object.
type providers struct{ *forecast }

// refusals reports addresses that cannot be planned.
type refusals struct {
	*forecast
	providers *providers
	problems  diag.List
	// paths are the paths that no purge removes: the paths of the list, unchanged paths, and all of
	// their parents.
	paths map[string]bool
}

// restoration restores earlier images at paths.
type restoration struct {
	*forecast
	providers *providers
	refusals  *refusals
	// after are the changes below a directory that wait for its step, by its path.
	after map[string][]Change
	last  []Change // directories to remove in which the list has a path
}

// removals plans the removal of entries that left the list.
type removals struct {
	*forecast
	refusals    *refusals
	restoration *restoration
	// empties are directories whose removal waits for a step that removes a path in them, by the path
	// of that step.
	empties map[string][]journal.Entry
}

// actions plans the notified actions.
type actions struct {
	*forecast
	providers *providers
	refusals  *refusals
	acted     map[addr.Addr]bool
}
