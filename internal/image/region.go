package image

// Leaves reports whether the file is removed when the region becomes to: the file did not exist before
// fettle, and is now empty without the region.
func (r Region) Leaves(to Region) bool { return r.FileEmpty && !to.Present && to.FileAbsent }
