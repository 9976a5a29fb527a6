//go:build !fettlenosync

package main

// unsyncedMachine and unsyncedState leave out no sync.
func unsyncedMachine(string, string) bool { return false }
func unsyncedState(string, string) bool   { return false }
