package hub

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang"
)

// ownName stands for the name of the target in the names of a rule.
const ownName = "@own"

// judgeNames says what becomes of an ask of a target for a certificate of some names: the worst
// that the policy says of any of them. Of each the first rule that means the target and the
// name says; without one the target's own name is held, and all others are refused.
func judgeNames(rules []fleet.CertificateRule, target lang.Target, names []string) (fleet.Verdict, string) {
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

func judgeName(rules []fleet.CertificateRule, target lang.Target, name string) (fleet.Verdict, string) {
	for i, r := range rules {
		if !slices.ContainsFunc(r.Names, func(p string) bool { return fits(p, target.Name, name) }) {
			continue
		}
		s, err := selection.Parse(r.Select)
		if err != nil {
			// Nobody knows whom it means, so somebody has to look.
			return fleet.Hold, fmt.Sprintf("rule %d cannot be read: %v", i+1, err)
		}
		if s.Means(target) {
			return r.Answer, fmt.Sprintf("rule %d says %s for %s", i+1, r.Answer, name)
		}
	}
	if name == target.Name {
		return fleet.Hold, "it is the target's own name, and no rule says more"
	}
	return fleet.Reject, fmt.Sprintf("no rule lets %s have %s", target.Name, name)
}

// fits tells whether a name is one that a pattern means: itself, an address in a network, any
// one label in the place of *, or the target's own name.
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

// checkRule says what is wrong with a rule.
func checkRule(r fleet.CertificateRule) error {
	if err := r.Answer.Check(); err != nil {
		return err
	}
	if len(r.Select) == 0 || len(r.Names) == 0 {
		return errors.New("cannot take a rule without targets or names: it has -t SELECTION and --name PATTERN")
	}
	s, err := selection.Parse(r.Select)
	if err != nil {
		return err
	}
	if len(s.Files()) > 0 || s.Failed() {
		return fmt.Errorf("cannot take %q for a rule: it is of names and labels, as label:role=web", s)
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
		return fmt.Errorf("cannot take %.80q for names: it is a name in lower case, one with * for a whole label, as *.web.example.org, a network, or %s for the target's own name", p, ownName)
	}
	return nil
}
