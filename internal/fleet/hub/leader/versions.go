package leader

import "fettle.dev/fettle/internal/fleet/assign"

// versions contains what the content of compiled commits declares about versions. The zero value is ready for use.
type versions struct {
	known assign.Versions
	// head is the commit of the branch, and tried are the commits that were read for it.
	head  string
	tried map[string]bool
}

const (
	// maxVersions limits the bundles that are kept.
	maxVersions = 20_000
	// maxRead limits the commits that are read for one decision. Others are read for the next one.
	maxRead = 20
)

func (v *versions) learn(c assign.Contents) {
	if v.known == nil || len(v.known) > maxVersions {
		v.known = assign.Versions{}
	}
	v.known.Learn(c)
}
