package contents

import (
	"context"
	"maps"

	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Sweep removes content that is not in an assignment or in a binary setting. Digests that computed
// returns stay, because the last computation of this hub uses them. Sweep also removes unused
// commits from the clone of the repository.
func (c *Contents) Sweep(ctx context.Context, computed func() map[string]bool) error {
	digests, commits := map[string]bool{}, map[string]bool{}
	c.Records.Assignments.Each(func(_ string, g records.Assignment, _ uint64) {
		for _, m := range partsOf(g.Assignment) {
			digests[m.Bundle.Digest], commits[m.Revision.Commit] = true, true
			if m.Proof != nil {
				digests[m.Proof.Digest] = true
			}
		}
	})
	for _, p := range c.Records.Binaries.Values() {
		for _, b := range p.Binary.Files {
			digests[b.Digest] = true
		}
	}
	maps.Copy(digests, computed())
	if _, err := c.Store.Sweep(func(d string) bool { return digests[d] }); err != nil {
		return err
	}
	return c.Repository.Tidy(ctx, func(commit string) bool { return commits[commit] })
}
