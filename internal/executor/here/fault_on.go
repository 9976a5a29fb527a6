//go:build fettlefault

package here

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
)

// counted is the one counter of the machine and of the state directory, for the
// campaign that kills this program everywhere: FETTLE_KILL=N ends it just
// before its N-th mutating operation, FETTLE_STOP=N stops it there until it is
// continued, FETTLE_COUNT names a file that gets a line for each.
var counted = sync.OnceValue(func() host.Counter {
	n, _ := strconv.Atoi(os.Getenv("FETTLE_KILL"))
	stop, _ := strconv.Atoi(os.Getenv("FETTLE_STOP"))
	name := os.Getenv("FETTLE_COUNT")
	if name == "" {
		return fault.Chain(fault.KillAt(n), fault.StopAt(stop))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return func(string, string) error { return err }
	}
	return fault.Chain(fault.KillAt(n), fault.StopAt(stop), func(op, path string) error {
		_, err := fmt.Fprintln(f, op, path)
		return err
	})
})
