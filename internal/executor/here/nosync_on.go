//go:build fettlenosync

package here

import (
	"os"
	"strings"
)

// unsyncedMachine and unsyncedState omit syncs, so that the power-cut test can show that
// it detects missing syncs. FETTLE_NOSYNC selects the omitted syncs: "machine" omits the
// syncs of the machine, "barriers" all syncs except the journals', and any other value
// all syncs.
func unsyncedMachine(string, string) bool { return true }

func unsyncedState(_, path string) bool {
	switch os.Getenv("FETTLE_NOSYNC") {
	case "machine":
		return false
	case "barriers":
		return !strings.HasPrefix(path, "/journal")
	}
	return true
}
