package journal_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// BenchmarkAppend10000 is one run's worth of moves: 40 ms is the goal.
func BenchmarkAppend10000(b *testing.B) {
	recs := make([]journal.Record, 10_000)
	for i := range recs {
		recs[i] = move(i)
	}
	for b.Loop() {
		b.StopTimer()
		j := must(open(b, mem.NewFS(mem.Options{})).Begin(header(1, 0)))(b)
		b.StartTimer()
		for i := range recs {
			check(b, j.Append(recs[i]))
		}
		check(b, j.Sync())
	}
}

func BenchmarkRuns1000(b *testing.B) {
	fsys := mem.NewFS(mem.Options{})
	one := open(b, fsys)
	finish(b, one, 1, 0, 100)
	for run := 2; run <= 1000; run++ {
		other := open(b, mem.NewFS(mem.Options{}))
		finish(b, other, run, run-1, 100)
		path := fmt.Sprintf("/journal/%06d.wal", run)
		overwrite(b, fsys, path, content(b, other.FS(), path))
	}
	for b.Loop() {
		if n := len(must(one.Runs())(b)); n != 1000 {
			b.Fatal(n)
		}
	}
}
