//go:build fettlenosync

package main

import (
	"os"
	"strings"
)

// unsynced leaves out syncs, so that the power-cut campaign can show that it
// would notice: every one, or with FETTLE_NOSYNC=barriers all but those of the
// journals themselves.
func unsynced(_, path string) bool {
	return os.Getenv("FETTLE_NOSYNC") != "barriers" || !strings.HasPrefix(path, "/journal")
}
