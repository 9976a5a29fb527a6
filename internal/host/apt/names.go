package apt

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/host"
)

// checkNames refuses texts that apt would read as an option, or not as a package name.
func checkNames(changes []host.PackageChange) error {
	for _, c := range changes {
		if !validName(c.Name) {
			return fmt.Errorf(
				"cannot change package %q: it is not the name of a package: lower-case letters, digits and + - . only", c.Name)
		}
		if _, err := debver.Parse(c.Version); c.Version != "" && err != nil {
			return fmt.Errorf("cannot change package %s: %w", c.Name, err)
		}
	}
	return nil
}

func validName(s string) bool {
	s, arch, _ := strings.Cut(s, ":")
	if len(s) < 2 || !isLowerOrDigit(s[0]) {
		return false
	}
	for _, c := range []byte(s + strings.ReplaceAll(arch, "-", "")) {
		if !isLowerOrDigit(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
