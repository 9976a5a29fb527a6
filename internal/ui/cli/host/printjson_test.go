package host

import (
	"bytes"
	"encoding/json"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

// TestNamesInJSON: two names are never the same string, and each can be read back.
func TestNamesInJSON(t *testing.T) {
	names := []string{"/a/caf\xe9", "/a/caf\xe8", "/a/caf\ufffd", "/a/café", "/a/\U0010ffe9", "/a/\xf4\x8f\xbf\xa9",
		"/a/\xff\xfe", "/a/<&>"}
	seen := map[string]string{}
	for _, n := range names {
		p := &plan.Plan{Changes: []plan.Change{{Action: plan.Purge, Addr: addr.File(n)}}}
		var out bytes.Buffer
		printer := &cli.Printer{App: &cli.App{Stdout: &out}}
		if err := printer.Document(rundoc.PlanOf(rundoc.PlanFormat, p)); err != nil {
			t.Fatal(err)
		}
		var plain, whole rundoc.Plan
		if err := json.Unmarshal(out.Bytes(), &plain); err != nil {
			t.Fatal(err)
		}
		if err := journal.Unmarshal(out.Bytes(), &whole); err != nil {
			t.Fatal(err)
		}
		text := string(plain.Changes[0].Addr)
		if was, ok := seen[text]; ok && was != n {
			t.Errorf("%q and %q are both %q", was, n, text)
		}
		seen[text] = n
		if got := whole.Changes[0].Addr; got != addr.File(n) {
			t.Errorf("%q comes back as %q", n, got)
		}
	}
	if len(seen) != len(names)-1 { // one of them is written in two ways above
		t.Errorf("%d strings of %d names", len(seen), len(names))
	}
}
