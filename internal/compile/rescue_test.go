package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// TestRescueOfMany: if more states follow a block than a line can name, a failure of the block ends
// the run. It is not an error.
func TestRescueOfMany(t *testing.T) {
	const text = `block "base" {
  rescue = [exec.tell.run]
  file "/etc/base" { content = "x" }
}
exec "many" {
  for_each = toset(flatten([for n in range(%d) : [for m in range(10) : "${n}-${m}"]]))
  name     = "%s${each.key}"
  command  = ["true"]
  after    = [block.base]
}
exec "tell" {
  command = ["true"]
  lazy    = true
}
`
	for n, behind := range map[int]int{1: 10, 30: 0} {
		res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": fmt.Sprintf(text, n,
			strings.Repeat("long", 500))})})
		if len(ds) > 0 {
			t.Fatalf("%d mistakes: %.300s", len(ds), ds)
		}
		last := res.List[len(res.List)-1]
		_, rescues := last.Lookup("rescue")
		if last.Verb != step.Act || len(last.All("on_failure")) != 1 || rescues != (behind > 0) ||
			len(last.All("behind")) != behind {
			t.Errorf("%d: %.200s", n, last)
		}
	}
}
