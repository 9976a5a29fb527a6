package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// PermitFormat is the supported format.
const PermitFormat = "fettle.permit/1"

// maxPermit is the maximum size of a permit with its signature, in bytes.
const maxPermit = 32 << 10

// Permit allows targets to use a commit that is older than their accepted one. Keys that may sign
// commits may sign it:
//
//	signed, err := content.Permit{Repository: "site", Commit: id, Targets: []string{"web*"}, Expires: soon}.Sign(key)
//
// The result is Text, followed by the signature that ssh-keygen -Y sign -n fettle-rollback makes of
// Text.
type Permit struct {
	Format     string `json:"format"`
	Repository string `json:"repository"`
	Commit     string `json:"commit"` // the permitted commit
	// Targets are names of targets, with * and ? as wildcards, or label:KEY=VALUE. One match is
	// enough; an empty list matches no target.
	Targets []string `json:"targets"`
	Expires int64    `json:"expires"` // seconds since 1970
}

// Text returns the text to sign.
func (p Permit) Text() []byte {
	p.Format = PermitFormat
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // all fields can be encoded
	}
	return append(b, '\n')
}

// permitted returns the principal that permits the claim.
func permitted(c Claim, t Trust) (by string, err error) {
	text, armor, ok := strings.Cut(c.Permit, armorBegin)
	switch {
	case c.Permit == "":
		return "", fmt.Errorf("an older commit needs a permit, signed with a key that may sign commits: fettle target pin %s --branch %.12s --permit. Or make a new commit with the older content",
			c.Target, c.Commit)
	case !ok || len(c.Permit) > maxPermit:
		return "", errors.New("the permit for an older commit is not signed")
	}
	key, err := verifySSH([]byte(armorBegin+armor), []byte(text), PermitNamespace)
	if err != nil {
		return "", fmt.Errorf("the permit for an older commit is not valid: %w", err)
	}
	if by, err = t.Signers.find(key, PermitNamespace, t.Now); err != nil {
		return "", fmt.Errorf("the permit for an older commit is not valid: %w", err)
	}
	var p Permit
	if err := decodeStrictly([]byte(text), &p); err != nil || p.Format != PermitFormat {
		return "", fmt.Errorf("the permit for an older commit, signed by %s, cannot be read: its format must be %s", by,
			PermitFormat)
	}
	if why := p.refuses(c, t); why != "" {
		return "", fmt.Errorf("the permit for an older commit, signed by %s, is %s", by, why)
	}
	return by, nil
}

// PermittedBy returns the principal that permits the claim, even if its commit is not older. Such a
// permit also replaces the accepted commit.
func PermittedBy(c Claim, t Trust) (by string, err error) { return permitted(c, t) }

// refuses returns the reason why a permit does not cover the claim, or "".
func (p Permit) refuses(c Claim, t Trust) string {
	switch {
	case p.Repository != c.Repository:
		return fmt.Sprintf("for the repository %.80q", p.Repository)
	case p.Commit != c.Commit:
		return fmt.Sprintf("for the commit %.64q", p.Commit)
	case t.Now >= p.Expires:
		return "valid only until " + day(p.Expires) + ". Sign a new one"
	case !slices.ContainsFunc(p.Targets, func(s string) bool { return fits(s, c) }):
		return fmt.Sprintf("not for this target: it is for %.200q", p.Targets)
	}
	return ""
}

// fits returns true if a pattern matches a target. An invalid pattern matches none.
func fits(pattern string, c Claim) bool {
	label, is := strings.CutPrefix(pattern, "label:")
	if !is {
		ok, err := path.Match(pattern, c.Target)
		return ok && err == nil
	}
	name, value, ok := strings.Cut(label, "=")
	have, there := c.Labels[name]
	return ok && there && have == value
}

// MinimumCommits has the minimum time of a commit for each part, in seconds since 1970. A target
// stores it durably. A part is a path in the signed tree, so a hub cannot rename it. The hub could
// choose the name of the repository, so it is ignored. The times are per part since parts of one
// repository can be assigned at different commits.
//
// A key is the part after a zero byte. Earlier versions wrote the name of the repository before
// that byte. Such a key counts for its part as well. It stays until a permit lowers the part, so
// that an earlier version can use it after a downgrade.
type MinimumCommits map[string]int64

func partOfMinimum(key string) string { return key[strings.LastIndexByte(key, 0)+1:] }

// Of returns the minimum time of a part, 0 if no commit of it was accepted.
func (f MinimumCommits) Of(part string) (floor int64) {
	for k, at := range f {
		if partOfMinimum(k) == part {
			floor = max(floor, at)
		}
	}
	return floor
}

// Record records the time of an accepted commit. With a permit the minimum decreases to it.
func (f MinimumCommits) Record(part string, s Signed) {
	if s.Permit != "" {
		maps.DeleteFunc(f, func(k string, _ int64) bool { return partOfMinimum(k) == part })
	}
	if s.Permit != "" || s.Time > f.Of(part) {
		f["\x00"+part] = s.Time
	}
}
