package compile

// Alike is how many lists of a fleet were made of others.
func Alike(f *Fleet) int { return f.alike }

// Taken is how many lists were made of those of the other revision.
func Taken(r *Revisions) int { return r.taken }
