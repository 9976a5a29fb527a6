package step

// DiffWhole is Diff that looks at every step.
func DiffWhole(old, new List) []Change { return diffWhole(old, new) }
