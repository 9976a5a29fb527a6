package journal

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// The decoded first and last records of a run are complete.
func TestEdge(t *testing.T) {
	for _, r := range []Record{
		{Kind: Begin, At: 5, Header: &Header{Format: 1, Run: 3, Operation: OpApply, Base: 2, Target: "web1",
			Revision: repo.Revision{Commit: "abc"}, List: "l", Plan: "p", User: "an\xffn", Command: "fettle apply"}},
		{Kind: Commit, At: 6, Outcome: Failed, Summary: &Summary{Error: "it \xfe broke", Changed: 7}},
		{Kind: Undone, At: 7, Outcome: RolledBack},
		{Kind: Commit},
	} {
		text, err := Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		f := frame{seq: 9, payload: text}
		whole, err1 := f.decode()
		got, err2 := f.edge()
		if err1 != nil || err2 != nil || !reflect.DeepEqual(got, whole) {
			t.Errorf("%+v, %v\nis in whole\n%+v, %v", got, err2, whole, err1)
		}
	}
	// Of any other record it is known that it is none of them.
	text, err := Marshal(Record{Kind: Move, Path: "/x", Text: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (frame{payload: text}).edge(); err != nil || got.Kind != Move || got.Kind.Ends() {
		t.Errorf("%+v, %v", got, err)
	}
}
