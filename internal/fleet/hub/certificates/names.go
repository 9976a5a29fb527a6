package certificates

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

// ownName represents the name of the target in the names of a rule.
const ownName = "@own"

// judgeNames returns the decision about a request for a certificate with some names: the strictest
// decision about any name. For each name, the first rule that selects the target and the name
// decides. Without a rule, the target's own name needs approval, and other names are rejected.
func judgeNames(rules []fleet.CertificateRule, target query.Target, names []string) (fleet.Verdict, string) {
	verdict, why := fleet.Allow, ""
	for _, name := range names {
		v, because := judgeName(rules, target, name)
		if v == fleet.Reject {
			return v, because
		}
		if v != fleet.Allow {
			verdict, why = v, because
		}
	}
	return verdict, why
}

func judgeName(rules []fleet.CertificateRule, target query.Target, name string) (fleet.Verdict, string) {
	for i, r := range rules {
		if !slices.ContainsFunc(r.Names, func(p string) bool { return fits(p, target.Name, name) }) {
			continue
		}
		s, err := selection.Parse(r.Select)
		if err != nil {
			// The targets of this rule are unknown, so a user must decide.
			return fleet.Hold, fmt.Sprintf("rule %d cannot be read: %v", i+1, err)
		}
		if s.Means(target) {
			return r.Answer, fmt.Sprintf("the answer of rule %d is %s for %s", i+1, r.Answer, name)
		}
	}
	if name == target.Name {
		return fleet.Hold, "it is the target's own name, and no rule applies"
	}
	return fleet.Reject, fmt.Sprintf("no rule allows %s a certificate for %s", target.Name, name)
}

// fits reports whether a pattern matches a name: the same name, an address in a network, the
// target's own name for ownName, or a name in which * replaces exactly one label.
func fits(pattern, target, name string) bool {
	if pattern == ownName {
		return name == target
	}
	if network, err := netip.ParsePrefix(pattern); err == nil {
		ip, err := netip.ParseAddr(name)
		return err == nil && network.Contains(ip)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return pattern == name
	}
	parts, labels := strings.Split(pattern, "."), strings.Split(name, ".")
	if len(parts) != len(labels) {
		return false
	}
	for i, p := range parts {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}

// CheckRule returns an error if a rule is wrong.
func CheckRule(r fleet.CertificateRule) error {
	if err := r.Answer.Check(); err != nil {
		return err
	}
	if len(r.Select) == 0 || len(r.Names) == 0 {
		return errors.New("cannot use a rule without targets or names: give -t SELECTION and --name PATTERN")
	}
	s, err := selection.Parse(r.Select)
	if err != nil {
		return err
	}
	if len(s.Files()) > 0 || s.Failed() {
		return fmt.Errorf("cannot use the selection %q in a rule: select by names and labels, such as label:role=web", s)
	}
	for _, p := range r.Names {
		if err := checkPattern(p); err != nil {
			return err
		}
	}
	return nil
}

func checkPattern(p string) error {
	if p == ownName {
		return nil
	}
	if _, err := netip.ParsePrefix(p); err == nil {
		return nil
	}
	if _, err := netip.ParseAddr(p); err == nil {
		return nil
	}
	plain := strings.ReplaceAll(p, "*", "x")
	bad := slices.ContainsFunc(strings.Split(p, "."), func(l string) bool { return strings.Contains(l, "*") && l != "*" })
	if bad || strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || len(p) > 253 || p == "*" || p == "" {
		return fmt.Errorf("cannot use %.80q as a name pattern: use a name in lower case, a name such as *.web.example.org, "+
			"a network, or %s. There * is exactly one label, and %s is the name of the target", p, ownName, ownName)
	}
	return nil
}
