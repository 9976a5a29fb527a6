package apply

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/step"
)

// isPath reports whether a change is made with path moves.
func isPath(a addr.Addr) bool {
	switch a.Kind() {
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		return true
	}
	return false
}

// ownImage reports whether an address has an image of its own in addition to that of its path.
func ownImage(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }

// isUnitFile reports whether systemd reads the path in a reload.
func isUnitFile(p string) bool {
	for _, dir := range []string{"/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/lib/systemd/",
		"/usr/local/lib/systemd/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

func isAccount(a addr.Addr) bool {
	return a.Kind() == addr.KindUser || a.Kind() == addr.KindGroup || a.Kind() == addr.KindPkg || a.Kind() == addr.KindExec
}

func accounts(v step.Verb) bool { return v == step.User || v == step.Group || v == step.Member }
