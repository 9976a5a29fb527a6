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

// PermitFormat is the format that this program writes and reads.
const PermitFormat = "fettle.permit/1"

// maxPermit bounds a permit with its signature, in bytes.
const maxPermit = 32 << 10

// Permit is the way back to a commit that is older than what targets had. Whoever may
// sign commits may sign it:
//
//	signed, err := content.Permit{Repository: "site", Commit: id, Targets: []string{"web*"}, Expires: soon}.Sign(key)
//
// That is what ssh-keygen -Y sign -n fettle-rollback makes of Text, behind that text.
type Permit struct {
	Format     string `json:"format"`
	Repository string `json:"repository"`
	Commit     string `json:"commit"` // that may be gone back to
	// Targets are names of targets, in which * and ? stand for others, or
	// label:KEY=VALUE. One that fits is enough; none fits nobody.
	Targets []string `json:"targets"`
	Expires int64    `json:"expires"` // seconds since 1970
}

// Text is what has to be signed.
func (p Permit) Text() []byte {
	p.Format = PermitFormat
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return append(b, '\n')
}

// permitted tells who permits the claim.
func permitted(c Claim, t Trust) (by string, err error) {
	text, armor, ok := strings.Cut(c.Permit, armorBegin)
	switch {
	case c.Permit == "":
		return "", fmt.Errorf("going back needs a permit of somebody who signs commits: fettle target pin %s --branch %.12s --permit; or commit what is wanted anew", c.Target, c.Commit)
	case !ok || len(c.Permit) > maxPermit:
		return "", errors.New("the permit to go back is not signed")
	}
	key, err := verifySSH([]byte(armorBegin+armor), []byte(text), PermitNamespace)
	if err != nil {
		return "", fmt.Errorf("the permit to go back does not hold: %w", err)
	}
	if by, err = t.Signers.find(key, PermitNamespace, t.Now); err != nil {
		return "", fmt.Errorf("the permit to go back does not hold: %w", err)
	}
	var p Permit
	if err := decodeStrictly([]byte(text), &p); err != nil || p.Format != PermitFormat {
		return "", fmt.Errorf("the permit to go back, signed by %s, cannot be read: it is of the format %s", by, PermitFormat)
	}
	if why := p.refuses(c, t); why != "" {
		return "", fmt.Errorf("the permit to go back, signed by %s, is %s", by, why)
	}
	return by, nil
}

// PermittedBy returns who permits the claim, whether or not its commit is older. Such a permit also
// replaces the accepted commit.
func PermittedBy(c Claim, t Trust) (by string, err error) { return permitted(c, t) }

// refuses says why a permit is not one for the claim, "" when it is.
func (p Permit) refuses(c Claim, t Trust) string {
	switch {
	case p.Repository != c.Repository:
		return fmt.Sprintf("for the repository %.80q", p.Repository)
	case p.Commit != c.Commit:
		return fmt.Sprintf("for the commit %.64q", p.Commit)
	case t.Now >= p.Expires:
		return "of use until " + day(p.Expires) + " only; sign a new one"
	case !slices.ContainsFunc(p.Targets, func(s string) bool { return fits(s, c) }):
		return fmt.Sprintf("not for this target: it is for %.200q", p.Targets)
	}
	return ""
}

// fits tells whether a pattern is about a target. A broken pattern is about none.
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

// MinimumCommits are the commit times below which nothing is taken, by part. A target keeps them
// durably. A part is a path in the tree that was signed, so a hub cannot give it another
// name; the name of the repository is the hub's word, and does not count. It is per part
// since parts of one repository are rightly assigned at different commits.
//
// A key is the part with a zero byte before it. Earlier versions wrote the name of the
// repository before that byte: such a key counts for its part like the one without a name, and
// stays until a permit lowers the part, so that an earlier version that runs again has it.
type MinimumCommits map[string]int64

func partOfMinimum(key string) string { return key[strings.LastIndexByte(key, 0)+1:] }

// Of is the floor of a part, 0 when nothing of it was ever taken.
func (f MinimumCommits) Of(part string) (floor int64) {
	for k, at := range f {
		if partOfMinimum(k) == part {
			floor = max(floor, at)
		}
	}
	return floor
}

// Take notes that a commit of this time was taken. With a permit the floor goes down to
// it: what was permitted is the new present.
func (f MinimumCommits) Take(part string, s Signed) {
	if s.Permit != "" {
		maps.DeleteFunc(f, func(k string, _ int64) bool { return partOfMinimum(k) == part })
	}
	if s.Permit != "" || s.Time > f.Of(part) {
		f["\x00"+part] = s.Time
	}
}
