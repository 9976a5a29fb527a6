package journal_test

import (
	"fmt"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func Example() {
	s, err := journal.Open(mem.NewFS(mem.Options{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	run, _ := s.NextRun()
	list, _ := s.PutBytes([]byte("MKDIR /srv\n"))
	if err := s.SyncObjects(); err != nil { // objects before what refers to them
		fmt.Println(err)
		return
	}
	j, err := s.Begin(journal.Header{Run: run, Operation: journal.OpApply, List: list})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	_ = j.Append(journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded})
	if err := j.Sync(); err != nil {
		fmt.Println(err)
		return
	}
	recs, _ := s.Read(run)
	for _, r := range recs {
		fmt.Println(r.Seq, r.Kind)
	}
	// Output:
	// 1 begin
	// 2 commit
}
