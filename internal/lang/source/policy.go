package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// PolicyAttributes are the attributes of a policy block with their values; none for
// a boolean and a time.
func PolicyAttributes() []policyAttribute {
	return []policyAttribute{
		{"on_failure", []string{"stop", "undo"}},
		{"on_crash", []string{"undo", "finish"}},
		{"on_check_failure", []string{"keep", "undo"}},
		{"drift", []string{"repair", "report"}},
		{"lockout", []string{"confirm", "checks", "ignore"}},
		{"confirm_within", nil},
		{"require_undo", nil},
		{"create_guests", nil},
		{"repository", nil},
		{"rollout", nil},
		{"windows", nil},
	}
}

type policyAttribute struct {
	Name   string
	Values []string
}

// policyBlock stores a policy block: at the top for all targets, inside a target for this target.
func (ps *parser) policyBlock(b *hclsyntax.Block, into **hclsyntax.Block) {
	names := make([]string, 0, len(PolicyAttributes()))
	for _, a := range PolicyAttributes() {
		names = append(names, a.Name)
	}
	ps.only(b, names, nil)
	switch {
	case len(b.Labels) > 0:
		ps.Errorf(syntax.RangeOf(b.LabelRanges[0]), "Unexpected label", "A policy has no label. Write policy { … }.")
	case *into != nil:
		ps.Errorf(syntax.RangeOf(b.DefRange()), "Policy declared twice",
			"There is already a policy at %s. Merge the two blocks.", syntax.RangeOf((*into).DefRange()))
	default:
		*into = b
	}
}

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
