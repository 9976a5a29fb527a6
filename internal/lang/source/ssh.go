package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// sshAttrs are the attributes of an ssh block.
func sshAttrs() []string { return []string{"enabled", "host", "user", "port", "sudo", "options"} }

// sshBlock stores an ssh block: at the top for all targets, inside a target group or a target only
// for these.
func (ps *parser) sshBlock(b *hclsyntax.Block, into **hclsyntax.Block) {
	known := sshAttrs()
	if a := b.Body.Attributes["sudo_user"]; a != nil {
		ps.Errorf(syntax.RangeOf(a.NameRange), "No sudo to another user",
			"fettle runs on the target as the login user, or with sudo = true as root. To run as another user, log in as that user: user = NAME.")
		known = append(known, a.Name)
	}
	ps.only(b, known, nil)
	switch {
	case len(b.Labels) > 0:
		ps.Errorf(syntax.RangeOf(b.LabelRanges[0]), "Unexpected label",
			"An ssh block has no label. Write ssh { host = %q }.", b.Labels[0])
	case *into != nil:
		ps.Errorf(syntax.RangeOf(b.DefRange()), "SSH declared twice",
			"There is already an ssh block at %s. Merge the two blocks.", syntax.RangeOf((*into).DefRange()))
	default:
		*into = b
	}
}
