package supportbundle

import (
	"fmt"
	"regexp"
	"sync"

	"fettle.dev/fettle/internal/addr"
)

// toldFields are the fields whose values are never confidential.
func toldFields(k addr.Kind) []string {
	switch k {
	case addr.KindFile, addr.KindMeta:
		return []string{"mode", "owner", "group", "type"}
	case addr.KindPkg:
		return []string{"version", "state", "held", "ensure"}
	case addr.KindUnit:
		return []string{"enabled", "active", "masked"}
	}
	return nil
}

var (
	plainField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_ ]{1,32}$`) })
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._@/:+-]{1,80}$`) })
)

func fieldName(name string) string {
	if plainField().MatchString(name) {
		return name
	}
	return "another"
}

// address returns the text of an address without secrets. The region of an edit can be the line itself, and
// the name of a command can be the command.
func address(a addr.Addr) string {
	switch a.Kind() {
	case addr.KindEdit:
		return string(addr.KindEdit) + ":" + a.Path() + "#…"
	case addr.KindExec, addr.KindAct, addr.KindWait, addr.KindCheck:
		if !plainName().MatchString(a.Name()) {
			return fmt.Sprintf("%s:(%d characters)", a.Kind(), len(a.Name()))
		}
	}
	return a.String()
}
