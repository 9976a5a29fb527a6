// Command bench measures fettle beside cf-agent, Puppet, Ansible and the
// physical limit, as whole processes:
//
//   - 100 to 100,000 files of 1 KiB: put in place, nothing to do, every byte
//     verified, one in a hundred repaired, and nothing to do without the cache
//     of lists;
//   - a host with packages, accounts, files, links and templates: nothing to do;
//   - a repository with thousands of targets: all compiled, and two revisions of it
//     compared;
//   - a program that starts and ends.
//
// It prints a table for each work, and writes docs/performance.md and
// docs/performance.svg. Two expressions choose a part, which writes neither:
//
//	go run ./test/bench -fettle bin/fettle -date 2026-01-31
//	go run ./test/bench -works '^no change$' -tools 'limit|one tree' -sizes 10000
//
// and with -chapters the works that were chosen are written into the report that is
// there, each with its own date:
//
//	go run ./test/bench -works 'fleet|catalog' -chapters -date 2026-01-31
//
// # How it measures
//
// All tools do one work after the other within a round, and the first one
// changes from round to round, so that a noisy neighbour hits all alike.
// Ratios are taken within a round. After each run what the tool left is
// compared with what should be there; a tool that failed or left anything else
// has no figure, and the others go on. Before each run the file system is synced, so that none pays for
// another. A first apply begins in a new directory: creating files in the place of
// ones that were just deleted is many times slower on ext4, so old directories are
// moved aside and deleted at the end.
//
// A small process of its own starts and waits for each run, since a process
// begins with the peak memory of the one that started it.
//
// The mixed host is this machine's root below an overlay, a new one for each
// tool, in a mount namespace that ends with the benchmark: packages and
// accounts are real, and nothing that a tool does there happens here.
package main
