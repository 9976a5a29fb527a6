package compile

// Alike is how many lists of a fleet were made of others.
func Alike(f *Fleet) int { return f.alike }

// Taken returns the number of lists that reused the other revision.
func Taken(r *Revisions) int { return r.taken }
