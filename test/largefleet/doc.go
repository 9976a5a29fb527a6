// Package largefleet plays rollouts in large fleets in virtual time. The leaders of the hubs, their records, signatures
// and logs of rollouts are real, and share a storage in memory. Targets are simple: they apply an assignment after some
// seconds, and report the result. A judge, which sees only the written assignments and the reports, decides whether the
// limits of the strategies hold.
//
//	go test ./test/largefleet                        # 150 targets
//	FETTLE_TARGETS=2000 go test ./test/largefleet    # another number
//	FETTLE_LONG=1 go test ./test/largefleet          # 10,000 targets, and 200 commits in an hour
package largefleet
