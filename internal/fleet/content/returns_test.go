package content

import (
	"maps"
	"testing"
)

// TestReturns: a target returns by one step, for a time.
func TestReturns(t *testing.T) {
	r := Returns{}
	accepts := func(what, digest string, now int64, want bool) {
		t.Helper()
		if got := r.Accepts("web", digest, now); got != want {
			t.Errorf("%s: %t, want %t; %+v", what, got, want, r)
		}
	}
	accepts("nothing is known", "one", 0, false)
	r.Record("web", "one", 100)
	accepts("the part is new", "", 0, false)
	accepts("the present content", "one", 0, false)
	r.Record("web", "two", 200)
	r.Record("web", "two", 900)
	accepts("the content before", "one", 199, true)
	accepts("too late", "one", 200, false)
	if r.Accepts("base", "one", 0) {
		t.Error("another part")
	}
	r.RecordReturn("web", "one")
	r.RecordReturn("web", "one")
	accepts("after the return, for any time", "one", 1_000_000, true)
	accepts("an even older content", "zero", 0, false)
	r.Record("web", "three", 300)
	accepts("the content to which it returned", "one", 299, true)
	accepts("a content that it skipped", "two", 0, false)
	r.Record("web", "", 400)
	accepts("the part was removed", "three", 399, true)

	text, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseReturns(text)
	if err != nil || !maps.Equal(again, r) {
		t.Errorf("%+v, %v, want %+v", again, err, r)
	}
	for _, text := range []string{"", "{}", `{"format":"fettle.returns/2"}`, `{"format":"fettle.returns/1","more":1}`} {
		if r, err := ParseReturns([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}
