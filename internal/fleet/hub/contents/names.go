package contents

import "fettle.dev/fettle/internal/fleet"

// names reports whether an assignment contains a digest.
func names(a fleet.Assignment, digest string) bool {
	named := func(m *fleet.Assigned) bool {
		return m.Bundle.Digest == digest || m.Proof != nil && m.Proof.Digest == digest
	}
	if named(&a.Root) {
		return true
	}
	for i := range a.Modules {
		if named(&a.Modules[i]) {
			return true
		}
	}
	if a.Binary != nil {
		for _, f := range a.Binary.Files {
			if f.Digest == digest {
				return true
			}
		}
	}
	return false
}

// partsOf returns the root bundle and the modules of an assignment.
func partsOf(a fleet.Assignment) []fleet.Assigned {
	return append([]fleet.Assigned{a.Root}, a.Modules...)
}
