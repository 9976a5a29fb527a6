// Command bench measures fettle beside cf-agent and beside the physical limit:
// whole processes that put 100, 1,000 and 10,000 files of 1 KiB in place, find
// nothing to do, verify every byte, and repair one file in a hundred.
//
//	go run ./test/bench -fettle bin/fettle -date 2026-01-31
//
// It prints one table, and writes docs/performance.md and docs/performance.svg.
//
// # How it measures
//
// All tools do one work after the other within a round, and the first one
// changes from round to round, so that a noisy neighbour hits all alike.
// Ratios are taken within a round. After each run what the tool left is
// compared with the source, content and mode; a tool that left anything else
// has no figure. Before each run the file system is synced, so that none pays
// for another. A first apply begins in a new folder: creating files in the
// place of ones that were just deleted is many times slower on ext4, so old
// folders are moved aside and deleted at the end.
//
// A small process of its own starts and waits for each run, since a process
// begins with the peak memory of the one that started it.
package main
