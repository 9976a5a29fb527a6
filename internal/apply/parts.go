package apply

// execution is a run with the parts that execute, undo, recover and end it. A part uses only the parts
// above it in this list.
type execution struct {
	*run
	edits     *edits
	batches   *batches
	homes     *homes
	packages  *packages
	backward  *backward
	forward   *forward
	recovery  *recovery
	successor *successor
}

// newExecution connects the parts of a run.
func newExecution(r *run) *execution {
	x := &execution{run: r, edits: &edits{r}, successor: &successor{r}, packages: &packages{run: r}}
	x.batches = &batches{run: r, swept: map[string]bool{}}
	x.homes = &homes{run: r, batches: x.batches}
	x.backward = &backward{run: r, batches: x.batches, homes: x.homes, packages: x.packages}
	x.forward = &forward{run: r, edits: x.edits, batches: x.batches, homes: x.homes, packages: x.packages,
		backward: x.backward}
	x.recovery = &recovery{run: r, batches: x.batches, homes: x.homes, packages: x.packages, forward: x.forward}
	return x
}

// edits computes the regions of files before and after their steps.
type edits struct{ *run }

// batches makes path moves durable, one batch after the other.
type batches struct {
	*run
	number int // of the current batch, from 1
	// swept are directories with removed temporary files, whose removal is not durable yet. leftTemps
	// are temporary files that could not be removed.
	swept     map[string]bool
	leftTemps []string
}

// homes moves home directories together with their accounts: useradd and userdel do not restore one.
type homes struct {
	*run
	batches *batches
	existed bool // the home directory of the current account existed before
}

// packages changes packages in transactions, and finishes what dpkg left unfinished.
type packages struct {
	*run
	// unfinished is the unfinished state of dpkg, as its audit reports it, that configuring cannot
	// finish.
	unfinished string
	// foundUnfinished reports that dpkg had an unfinished state. since is the start time, in ns since 1970,
	// of the run that may have caused it.
	foundUnfinished   bool
	since             int64
	transactionFailed bool // a transaction failed, so unfinished packages can belong to others
}

// backward undoes changes of a run, in reverse order. It has no other code for verbs: an undo is the
// same move with the two images exchanged.
type backward struct {
	*run
	batches  *batches
	homes    *homes
	packages *packages
}

// forward executes the changes of a run.
type forward struct {
	*run
	edits    *edits
	batches  *batches
	homes    *homes
	packages *packages
	backward *backward
}

// recovery reconstructs an interrupted run from its journal and the host, and continues it.
type recovery struct {
	*run
	batches  *batches
	homes    *homes
	packages *packages
	forward  *forward
	undoing  bool // the run was already being undone when it was interrupted
}

// successor computes the applied state after a run.
type successor struct{ *run }
