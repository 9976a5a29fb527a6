package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// manyFiles is a request with n files in 50 directories.
func manyFiles(b *testing.B, n int, owner string) executor.Request {
	var list strings.Builder
	for i := range 50 {
		fmt.Fprintf(&list, "MKDIR /d%d owner=root group=root mode=0755\n", i)
	}
	for i := range n - 50 {
		fmt.Fprintf(&list, "COPY %d /d%d/file-%d.conf owner=%s group=root mode=0644\n", i%3, i%50, i, owner)
	}
	return request(b, list.String())
}

// BenchmarkPlan10000 plans 10,000 steps that are in sync: with the memory of an earlier observation,
// and without it.
func BenchmarkPlan10000(b *testing.B) {
	w := newWorld(b)
	r := manyFiles(b, 10_000, "root")
	_, err := w.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
	w.must(err)
	plan := func(b *testing.B, program string, r executor.Request, n int) {
		_, err := w.openAs(program).Plan(context.Background(), r)
		w.must(err)
		for b.Loop() {
			p, err := w.openAs(program).Plan(context.Background(), r)
			w.must(err)
			if len(p.Changes) != n {
				b.Fatalf("%d changes", len(p.Changes))
			}
		}
	}
	b.Run("remembered", func(b *testing.B) { plan(b, "one", r, 0) })
	b.Run("idle", func(b *testing.B) { plan(b, "", r, 0) })
	b.Run("changed", func(b *testing.B) { plan(b, "", manyFiles(b, 10_000, "www"), 9_950) })
}

// BenchmarkRollback plans the return of 5,000 files to the run before, and to the origin.
func BenchmarkRollback(b *testing.B) {
	for name, to := range map[string]int{"run": 1, "origin": 0} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			for _, owner := range []string{"root", "www"} {
				_, err := w.x.Apply(context.Background(), manyFiles(b, 5_000, owner), nil, executor.Options{}, nil)
				w.must(err)
			}
			for b.Loop() {
				p, err := w.openAs("").PlanRollback(context.Background(), executor.RollbackRequest{To: to})
				w.must(err)
				if len(p.Changes) < 4_950 {
					b.Fatalf("%d changes", len(p.Changes))
				}
			}
		})
	}
}
