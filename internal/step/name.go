package step

import (
	"fmt"
	"strings"
)

// longestAccount is what useradd and groupadd accept, in bytes.
const longestAccount = 32

// refuseAccount keeps names out that a tool could take for an option, and that
// no line of passwd(5) can hold.
func refuseAccount(v string, mustBeName bool) string {
	switch {
	case v == "":
		return "The account has no name. Give one."
	case len(v) > longestAccount:
		return fmt.Sprintf("%q is longer than the %d bytes that an account's name may have.", clip(v), longestAccount)
	case v[0] == '-':
		return fmt.Sprintf("%q begins with a hyphen, which tools take for an option.", v)
	case strings.ContainsFunc(v, notInAccount):
		return fmt.Sprintf("%q holds a character that no account may have: a blank, a colon, a comma, a slash or a control character.", v)
	case mustBeName && isNumber(v):
		return fmt.Sprintf("%q is a number, not a name. An account that can be told from a number needs a letter.", v)
	}
	return ""
}

func notInAccount(r rune) bool {
	return r <= ' ' || r == 0x7f || r == ':' || r == ',' || r == '/' || r == '='
}

func isNumber(v string) bool {
	return v != "" && strings.Trim(v, "0123456789") == ""
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

func onlyFrom(v, set string) bool { return !strings.ContainsFunc(v, outside(set)) }

func outside(set string) func(rune) bool {
	return func(r rune) bool { return !strings.ContainsRune(set, r) }
}

func refusePackage(v string) string {
	name, arch, hasArch := strings.Cut(v, ":")
	ok := len(name) > 1 && onlyFrom(name, lower+digits+"+-.") && onlyFrom(name[:1], lower+digits)
	if hasArch {
		ok = ok && arch != "" && onlyFrom(arch, lower+digits+"-")
	}
	if ok {
		return ""
	}
	hint := ""
	if l := strings.ToLower(v); l != v && refusePackage(l) == "" {
		hint = fmt.Sprintf(" Did you mean %q?", l)
	}
	return fmt.Sprintf("%q is not the name of a Debian package: lower-case letters, digits and + - . after a letter or digit, then perhaps :architecture.%s", clip(v), hint)
}

// refuseName checks the names that are letters, digits and a few signs.
func refuseName(v string, t Type) string {
	signs, what := ":-_.\\@", "a systemd unit"
	switch t {
	case Version:
		signs, what = ".+~:-", "a version of a Debian package"
	case sysctlKey:
		signs, what = "._-/:@", "a kernel setting"
	}
	switch {
	case v == "":
		return fmt.Sprintf("The name of %s is missing.", what)
	case !onlyFrom(v, lower+upper+digits+signs):
		return fmt.Sprintf("%q is not the name of %s: only letters, digits and %s may stand in it.", clip(v), what, signs)
	case v[0] == '-' && !strings.HasPrefix(v, "-."):
		return fmt.Sprintf("%q begins with a hyphen, which tools take for an option.", clip(v))
	case strings.Contains(v, "..") && t == sysctlKey:
		return fmt.Sprintf("%q goes up with \"..\". Write the setting's own name, such as net.ipv4.ip_forward.", clip(v))
	}
	return ""
}
