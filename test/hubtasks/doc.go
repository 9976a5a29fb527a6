// Package hubtasks tests the tasks of hubs with real services.
//
//	go test ./test/hubtasks
//
// A hub publishes the certificate revocation list of its fleet in the zone of a DNS server. The key for the zone is a
// secret of the hub. The test needs root, because the commands run as another user than the hub.
package hubtasks
