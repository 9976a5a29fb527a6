// Package arch holds the laws of the house as tests: which floor a directory
// stands on and that imports only go down, which packages alone may start
// programs, print, look at a clock or reach the network, how long files and
// functions may be, and that the documents' links lead somewhere.
//
//	go test ./internal/arch
//
// Each law is a table in the file that is named after it. An exception is a
// line with its reason, and a line that is needed no longer fails as well. The
// laws are tried on testdata/lawless, which breaks every one of them.
package arch
