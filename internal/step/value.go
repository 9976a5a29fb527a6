package step

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/duration"
)

// canonical returns the canonical form of a value. If the value is not of its type, why is a full
// sentence about it. NUL is refused earlier.
func (t Type) canonical(v string) (canon, why string) {
	switch t {
	case Bool:
		return v, oneOf(v, "true", "false")
	case Present:
		return v, oneOf(v, "present", "absent")
	case Purgeable:
		return v, oneOf(v, "present", "absent", "purged")
	case action:
		return v, oneOf(v, "reload", "restart", "start", "stop", "run")
	case Mode:
		return canonicalMode(v)
	case Int:
		return canonicalInt(v)
	case Seconds:
		return canonicalSeconds(v)
	case AbsPath:
		return canonicalPath(v)
	case Words:
		return canonicalWords(v)
	}
	return v, t.refuse(v)
}

// refuse explains why v is not of its type, for the types with one form only.
func (t Type) refuse(v string) string {
	switch t {
	case Address:
		return refuseAddress(v)
	case Pattern:
		return refusePattern(v)
	case URL:
		return refuseURL(v)
	case HostPort:
		return refuseHostPort(v)
	case Assignment:
		return refuseAssignment(v)
	case Account, accountName:
		return refuseAccount(v, t == accountName)
	case packageName:
		return refusePackage(v)
	case Version, UnitName, sysctlKey:
		return refuseName(v, t)
	case label:
		if strings.TrimSpace(v) == "" {
			return "The name is empty. Write a name."
		}
	case blobSource:
		return refuseSource(v)
	}
	return ""
}

// summary is the short text of the diagnostic about a value of this type.
func (t Type) summary() string {
	switch t {
	case Bool:
		return "Neither true nor false"
	case Present:
		return "Neither present nor absent"
	case Purgeable:
		return "Neither present, absent nor purged"
	case action:
		return "Unknown action"
	case Mode:
		return "Invalid mode"
	case Int:
		return "Invalid number"
	case Seconds:
		return "Invalid duration"
	case AbsPath:
		return "Invalid path"
	case Words:
		return "Invalid command"
	case Address:
		return "Invalid address"
	case Pattern:
		return "Invalid expression"
	case URL:
		return "Invalid URL"
	case HostPort:
		return "Invalid host and port"
	case Assignment:
		return "Invalid assignment"
	case Account, accountName:
		return "Invalid account"
	case packageName:
		return "Invalid package name"
	case Version:
		return "Invalid version"
	case UnitName:
		return "Invalid unit name"
	case sysctlKey:
		return "Invalid kernel setting"
	case blobSource:
		return "Invalid source"
	}
	return "Invalid value"
}

func oneOf(v string, allowed ...string) string {
	for _, a := range allowed {
		if v == a {
			return ""
		}
	}
	return fmt.Sprintf("%q is not one of %s.%s", clip(v), strings.Join(allowed, ", "), didYouMean(v, allowed))
}

func canonicalMode(v string) (string, string) {
	ok := len(v) == 3 || len(v) == 4
	for i := 0; i < len(v) && ok; i++ {
		ok = v[i] >= '0' && v[i] <= '7'
	}
	switch {
	case !ok:
		return v, fmt.Sprintf("%q is not a mode. Write 3 or 4 octal digits, such as 0644.", clip(v))
	case len(v) == 3:
		return "0" + v, ""
	}
	return v, ""
}

func canonicalInt(v string) (string, string) {
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		return v, fmt.Sprintf("%q is not a number from 0 to 4294967295, written in decimal digits.", clip(v))
	}
	return strconv.FormatUint(n, 10), ""
}

func canonicalSeconds(v string) (string, string) {
	d, err := duration.Parse(v)
	if err != nil {
		return v, err.Error() + "."
	}
	return duration.Text(d), ""
}

const maxPath = 4095 // bytes

func canonicalPath(v string) (string, string) {
	switch {
	case len(v) > maxPath: // a long path with many .. stays fast
		return clip(v), fmt.Sprintf("The path has %d bytes, and the limit of Linux is %d. Write a shorter path.", len(v),
			maxPath)
	case isClean(v):
		return v, ""
	case v == "":
		return v, "The path is empty. Write an absolute path, such as /etc/motd."
	case v[0] != '/':
		return v, fmt.Sprintf("%q is not absolute. Did you mean %q?", clip(v), clip("/"+strings.TrimPrefix(v, "./")))
	case hasDotDot(v):
		return v, fmt.Sprintf(`%q contains "..", so its real place depends on links. Write %q.`, clip(v), clip(path.Clean(v)))
	}
	return path.Clean(v), ""
}

// isClean reports whether p is absolute and equal to path.Clean(p), without the work of cleaning.
func isClean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for i := 1; i < len(p); i++ {
		if p[i-1] == '/' && (p[i] == '/' || p[i] == '.') {
			return path.Clean(p) == p
		}
	}
	return p == "/" || p[len(p)-1] != '/'
}

func hasDotDot(p string) bool {
	for rest, more := p, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if part == ".." {
			return true
		}
	}
	return false
}

func canonicalWords(v string) (string, string) {
	words, err := SplitWords(v)
	switch {
	case err != nil:
		return v, fmt.Sprintf("%s.", upperFirst(err.Error()))
	case len(words) == 0 || words[0] == "":
		return v, "The command is empty. Write the program and its words, such as \"nginx -t\"."
	}
	return JoinWords(words), ""
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func refuseAddress(v string) string {
	if _, err := addr.Parse(v); err == nil {
		return ""
	}
	kind, _, ok := strings.Cut(v, ":")
	if !ok {
		hint := ""
		if strings.HasPrefix(v, "/") {
			hint = fmt.Sprintf(" Did you mean %q?", clip("file:"+v))
		}
		return fmt.Sprintf("%q is not KIND:NAME, for example file:/etc/motd.%s", clip(v), hint)
	}
	var kinds []string
	for _, k := range addr.Kinds() {
		kinds = append(kinds, string(k))
	}
	return fmt.Sprintf("%q is not an address: write a kind of address (%s), a colon and a name.%s", clip(v),
		strings.Join(kinds, ", "), didYouMean(kind, kinds))
}

func refusePattern(v string) string {
	if _, err := regexp.Compile(v); err != nil {
		return fmt.Sprintf("%q is not a regular expression (RE2): %s.", clip(v),
			clip(strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
	}
	return ""
}

func refuseURL(v string) string {
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Sprintf("%q is not a URL that begins with http:// or https:// and names a host.", clip(v))
	}
	return ""
}

func refuseHostPort(v string) string {
	_, port, err := net.SplitHostPort(v)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Sprintf("%q is not HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:80 or [::1]:80.", clip(v))
	}
	return ""
}

func refuseAssignment(v string) string {
	if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
		return fmt.Sprintf("%q is not NAME=VALUE.", clip(v))
	}
	return ""
}

// refuseSource takes a digest for a digest only when it is whole.
func refuseSource(v string) string {
	switch {
	case v == "":
		return "The source is empty. Name a file relative to the directory of this list, or a digest."
	case strings.HasPrefix(v, "sha256:") && !IsDigest(v):
		return fmt.Sprintf("%q is not a complete digest: write sha256: and 64 lower-case hexadecimal digits.", clip(v))
	}
	return ""
}
