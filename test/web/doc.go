// Package web tests the pages of a fleet in a real browser, with a real hub.
//
//	go test ./test/web # needs chromium
package web
