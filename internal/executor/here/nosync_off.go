//go:build !fettlenosync

package here

// unsyncedMachine and unsyncedState leave out no sync.
func unsyncedMachine(string, string) bool { return false }
func unsyncedState(string, string) bool   { return false }
