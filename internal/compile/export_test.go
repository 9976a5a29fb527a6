package compile

// Alike is how many lists of a fleet were made of others.
func Alike(f *Fleet) int { return f.alike }
