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

// counted is the single counter of mutating operations on the machine and on the state
// directory. The crash tests use it. FETTLE_KILL=N kills the process just before its N-th
// mutating operation. FETTLE_STOP=N stops the process there until it is continued.
// FETTLE_COUNT names a file that gets a line for each operation.
var counted = sync.OnceValue(func() host.OperationHook {
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
