//go:build fettlenosync

package here

import (
	"os"
	"strings"
)

// unsyncedMachine and unsyncedState leave out syncs, so that the power-cut
// campaign can show that it would notice. FETTLE_NOSYNC says which: with
// "machine" those of the machine, with "barriers" all but those of the journals,
// else every one.
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
