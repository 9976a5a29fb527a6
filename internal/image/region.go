package image

// Leaves tells whether the file itself goes when the region becomes to: it was not there,
// and has nothing in it now.
func (r Region) Leaves(to Region) bool { return r.Bare && !to.Present && to.FileAbsent }
