//go:build !fettlenosync

package main

// unsynced leaves out no sync.
func unsynced(string, string) bool { return false }
