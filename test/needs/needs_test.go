package needs_test

import (
	"runtime"
	"strings"
	"testing"

	"fettle.dev/fettle/test/needs"
)

// spy is a test that notes how it ends.
type spy struct {
	testing.TB
	how string
}

func (s *spy) Helper()           {}
func (s *spy) Fatal(args ...any) { s.how = "failed: " + args[0].(string); runtime.Goexit() }
func (s *spy) Skip(args ...any)  { s.how = "skipped: " + args[0].(string); runtime.Goexit() }

// What is missing skips a test, and fails it where the machine must have everything.
func TestMissing(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", "require": "failed"} {
		t.Setenv(needs.Variable, value)
		for what, need := range map[string]func(testing.TB){
			"no-such-program": func(t testing.TB) { needs.Program(t, "no-such-program") },
			"a kernel":        func(t testing.TB) { needs.Missing(t, "a kernel") },
		} {
			s := &spy{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				need(s)
				s.how = "ran"
			}()
			<-done
			if !strings.HasPrefix(s.how, want+": ") || !strings.Contains(s.how, what) {
				t.Errorf("with %q and without %s: %s", value, what, s.how)
			}
		}
	}
	if path := needs.Program(t, "sh"); !strings.HasPrefix(path, "/") {
		t.Errorf("sh is %q", path)
	}
}
