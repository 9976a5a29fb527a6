// Package secrets runs the real program with planted secrets and looks for them
// in everything that it prints and stores, also in core dumps.
//
//	go test ./test/secrets
package secrets
