// Package e2e tests fettle on real Debian hosts of both releases: single hosts, hosts
// over SSH, and fleets of hubs and agents. It builds the program and the packages,
// boots the hosts of test/hosts, and needs root.
//
//	go test ./test/e2e -run TestDataOfPackages -v
package e2e
