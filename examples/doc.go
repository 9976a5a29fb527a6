// Package examples has repositories that work. Its tests compile each repository for
// every target, and compare the lists with the recorded lists.
//
//	go test ./examples -update   # after a change; review the difference like code
package examples
