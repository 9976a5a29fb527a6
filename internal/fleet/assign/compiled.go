package assign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// Compiled is a compiled repository without the content of its files, in a form for a hub. Targets with the same
// configuration share one entry.
type Compiled struct {
	Bundles    map[string]fleet.Bundle `json:"bundles"` // by directory, with "" for the root bundle
	Targets    []Alike                 `json:"targets"`
	Strategies []query.Strategy        `json:"strategies,omitempty"`
	Versions   map[string]Versioned    `json:"versions,omitempty"`
}

// Alike are targets with the same configuration.
type Alike struct {
	Names []string `json:"names"` // sorted
	Configured
}

// Compile describes a compiled tree. targets and strategies are the results of the language for it.
func Compile(t repo.Tree, targets []query.Target, strategies []query.Strategy) (c Compiled, err error) {
	c.Bundles, c.Strategies = map[string]fleet.Bundle{}, strategies
	c.Versions = VersionsOf(targets)
	parts, err := content.Parts(t)
	if err != nil {
		return c, err
	}
	for _, part := range parts {
		if c.Bundles[part], err = content.Pack(io.Discard, t, part); err != nil {
			return c, err
		}
	}
	c.Targets, err = alike(TargetsOf(targets))
	return c, err
}

// alike combines targets with the same configuration, sorted by their first names.
func alike(all map[string]Configured) ([]Alike, error) {
	byText := map[string]*Alike{}
	for name, conf := range all {
		text, err := json.Marshal(conf)
		if err != nil {
			return nil, fmt.Errorf("cannot describe the target %s: %w", name, err)
		}
		if byText[string(text)] == nil {
			byText[string(text)] = &Alike{Configured: conf}
		}
		a := byText[string(text)]
		a.Names = append(a.Names, name)
	}
	out := make([]Alike, 0, len(byText))
	for _, a := range byText {
		slices.Sort(a.Names)
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b Alike) int { return strings.Compare(a.Names[0], b.Names[0]) })
	return out, nil
}

// Contents returns the contents for the targets that are enrolled now.
func (c Compiled) Contents(r fleet.Revision, enrolled []fleet.Target) Contents {
	out := Contents{Revision: r, Enrolled: EnrolledDigest(enrolled), Root: c.Bundles[content.RootBundle],
		Bundles: map[string]fleet.Bundle{}, Targets: map[string]Configured{}, Strategies: c.Strategies,
		Versions: c.Versions}
	for part, b := range c.Bundles {
		if part != content.RootBundle {
			out.Bundles[part] = b
		}
	}
	for _, a := range c.Targets {
		for _, name := range a.Names {
			out.Targets[name] = a.Configured
		}
	}
	return out
}

// LastSigner returns the signer of the newest root bundle in assignments.
func LastSigner(all map[fleet.TargetID]fleet.Assignment) string {
	var newest fleet.Revision
	for _, a := range all {
		r := a.Root.Revision
		if a.Withdrawn == "" && cmp.Or(cmp.Compare(r.Time, newest.Time), cmp.Compare(r.Signer, newest.Signer)) > 0 {
			newest = r
		}
	}
	return newest.Signer
}
