package plan

import (
	"iter"

	"fettle.dev/fettle/internal/addr"
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
	Desired   step.List
	// AppliedList is the applied list. Only its actions are used.
	AppliedList step.List
	Applied     journal.State
	// Observed has an image for every address of Desired and Applied that has one. Failed has the error
	// of each failed observation.
	Observed map[addr.Addr]image.Image
	Failed   map[addr.Addr]error
	Rules    Rules
	// StoredTree returns the paths of a stored tree, parents first. It is nil if no tree can be restored.
	StoredTree func(tree string) []TreeFile
	// Links counts the names of a file at other paths and below them. If it is nil, a plan
	// that removes names does not refuse the file.
	Links func(file string, at []string) uint64
	// LinksAbove yields each symbolic link through which the path of a file leads, with the directory that
	// contains the link. If it is nil, a plan may give such a directory to any user.
	LinksAbove func(file string) iter.Seq2[string, string]
	// Names returns existing names of the type of need, only for suggestions: units, users, groups,
	// programs, or for a path its siblings. It is nil if there are no suggestions.
	Names func(need addr.Addr) []string
	// Missing reports whether the host certainly does not have a program or unit. It is nil if
	// this is unknown.
	Missing func(need addr.Addr) bool
	// Absent reports whether a path certainly does not exist. If it is nil, a plan does not check the directories of
	// new paths.
	Absent func(p string) bool
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
	// MorePhases reports that Desired is only the first part of the list. Missing addresses stay unchanged,
	// and so do addresses in a later phase.
	MorePhases bool
	// Unreached are the paths of steps that a failed run of Desired did not reach. Desired does not
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
	// Released has the paths that a run since has released with their image at the goal, and that no run has changed
	// after that. Another rollback can manage them again.
	Released map[string]bool
	// Edited has, by path, the files of which runs since have changed only parts, and which are
	// otherwise unchanged.
	Edited map[string]WholeFile
}

// TreeFile is one path of a stored tree, relative to the root of the tree.
type TreeFile struct {
	Rel  string
	File image.File
}

// WholeFile is a file of which only parts are managed: its content after the last run, and the content
// that a rollback restores if it is otherwise unchanged.
type WholeFile struct {
	From image.File `json:"from"`
	To   image.File `json:"to"`
}
