package binaries

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// HandleRoutes registers the handler of the stored settings.
func (s *Store) HandleRoutes(t *api.Table) { api.HandleGet(t, route.Binaries(), s.Binaries) }

// Binaries returns the stored settings of agent binaries, the latest first.
func (s *Store) Binaries(context.Context) (document.BinaryPage, error) {
	out := []document.BinarySetting{}
	for _, p := range s.Records.Binaries.Values() {
		out = append(out, document.BinarySetting{ID: p.Key, At: p.At, By: p.By, Select: p.Select, Binary: p.Binary})
	}
	slices.SortFunc(out, func(a, b document.BinarySetting) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID))
	})
	return document.BinaryPage{Format: document.BinaryPageFormat, Binaries: out}, nil
}

// SetBinary stores which binary the agents of some targets must run. It replaces an earlier setting
// for the same selection.
func (s *Store) SetBinary(ctx context.Context, by access.Principal, r document.BinaryRequest,
	targets []fleet.TargetID) error {
	for _, arch := range slices.Sorted(maps.Keys(r.Binary.Files)) {
		if !s.Content.Has(r.Binary.Files[arch]) {
			return &api.Refusal{Status: api.Conflict,
				Why: fmt.Sprintf("cannot upgrade agents to %s: this hub does not have the binary for %s",
					r.Binary.Version, arch),
				Hint: "Upload it: fettle agent upgrade --binary FILE"}
		}
	}
	now := s.Now()
	sum := sha256.Sum256([]byte(strings.Join(r.Select, "\x00")))
	key := hex.EncodeToString(sum[:8])
	words := strings.Join(r.Select, " -t ")
	if err := s.Events.Record(ctx, fleet.HubEvent{Kind: fleet.BinarySet, By: by.Name,
		Text: fmt.Sprintf("%s for %d agents, -t %s", r.Binary.Version, len(targets), words)}); err != nil {
		return err
	}
	_, rev, _ := s.Records.Binaries.Get(key)
	slices.Sort(targets)
	return s.Records.Binaries.Put(ctx, key, assign.BinarySetting{Key: key, At: now.UnixNano(), By: by.Name,
		Select: r.Select, Targets: targets, Binary: r.Binary}, rev)
}
