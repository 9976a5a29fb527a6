package step

import (
	"fmt"
	"strings"
)

// longestAccount is the limit of useradd and groupadd, in bytes.
const longestAccount = 32

// refuseAccount keeps names out that a tool could take for an option, and that
// no line of passwd(5) can hold.
func refuseAccount(v string, mustBeName bool) string {
	switch {
	case v == "":
		return "The account has no name. Write its name."
	case len(v) > longestAccount:
		return fmt.Sprintf("%q is longer than the %d bytes that an account's name may have.", clip(v), longestAccount)
	case v[0] == '-':
		return fmt.Sprintf("%q begins with a hyphen, so programs would treat it as an option.", v)
	case !inAccount(v):
		return fmt.Sprintf("%q contains a character that names of accounts cannot contain: a blank, a colon, a comma, a slash, an equals sign or a control character.", v)
	case mustBeName && isNumber(v):
		return fmt.Sprintf("%q is a number. The name of an account must contain a letter.", v)
	}
	return ""
}

func inAccount(v string) bool {
	for i := 0; i < len(v); i++ {
		if c := v[i]; c <= ' ' || c == 0x7f || c == ':' || c == ',' || c == '/' || c == '=' {
			return false
		}
	}
	return true
}

func isNumber(v string) bool {
	return v != "" && strings.Trim(v, "0123456789") == ""
}

// onlyFrom reports whether v consists of ASCII letters, digits and these signs.
func onlyFrom(v, signs string) bool {
	for i := 0; i < len(v); i++ {
		c := v[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return true
}

func refusePackage(v string) string {
	name, arch, hasArch := strings.Cut(v, ":")
	ok := len(name) > 1 && onlyFrom(name, "+-.") && onlyFrom(name[:1], "")
	if hasArch {
		ok = ok && arch != "" && onlyFrom(arch, "-")
	}
	if ok && v == strings.ToLower(v) {
		return ""
	}
	hint := ""
	if l := strings.ToLower(v); l != v && refusePackage(l) == "" {
		hint = fmt.Sprintf(" Did you mean %q?", l)
	}
	return fmt.Sprintf("%q is not the name of a Debian package: use lower-case letters, digits and + - . after a letter or digit, and optionally :architecture.%s", clip(
		v), hint)
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
	case !onlyFrom(v, signs):
		return fmt.Sprintf("%q is not the name of %s: use only letters, digits and %s.", clip(v), what, signs)
	case v[0] == '-' && !strings.HasPrefix(v, "-."):
		return fmt.Sprintf("%q begins with a hyphen, so programs would treat it as an option.", clip(v))
	case strings.Contains(v, "..") && t == sysctlKey:
		return fmt.Sprintf("%q contains \"..\". Write the name of the setting, such as net.ipv4.ip_forward.", clip(v))
	}
	return ""
}
