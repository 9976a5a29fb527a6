package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/needs"
)

// calls are the system calls that change or sync something, as strace knows
// them.
var calls = []string{"openat", "openat2", "mkdirat", "fchown", "fchownat", "fchmod", "chmod", "fsetxattr", "setxattr",
	"ioctl",
	"utimensat", "fsync", "fdatasync", "syncfs", "symlinkat", "linkat", "renameat2", "unlinkat", "ftruncate", "write"}

// TestInterruptedCalls lets signals interrupt every second call of each kind,
// which file systems in user space and of other machines let happen: it is
// repeated, and nobody notices.
func TestInterruptedCalls(t *testing.T) {
	strace := needs.Program(t, "strace")
	s := newSite(t, first, second, func(s *site) { s.free = []string{"/etc/hosts"} })
	p := s.phases[0]
	hit, wrong := 0, 0
	for _, call := range calls {
		m := p.from.copy(t, filepath.Join(filepath.Dir(s.dir), "interrupted-"+call))
		trace := m.dir + ".strace"
		tracer := []string{strace, "-f", "-qq", "-o", trace, "-e", "trace=" + call, "-e",
			fmt.Sprintf("inject=%s:error=EINTR:when=1+2", call)}
		out, err := m.under(tracer, 0, "", p.args...)
		text, rerr := os.ReadFile(trace)
		n := strings.Count(string(text), "(INJECTED)")
		hit += n
		if err != nil || rerr != nil {
			wrong++
			t.Errorf("%s was interrupted %d times: %v %v\n%s", call, n, err, rerr, out)
			continue
		}
		if diff := differs(m.tree(t), p.new, s.without(p.old)); len(diff) > 0 {
			wrong++
			t.Errorf("%s was interrupted %d times:\n\t%s", call, n, strings.Join(diff, "\n\t"))
		}
	}
	campaign.Record(t, campaign.Campaign{Name: "Interrupted system calls", Points: hit, Hit: hit, Lost: wrong,
		Detail: fmt.Sprintf(
			"every second call of %d kinds ends with EINTR; the run succeeds with the same result as without", len(calls))})
	if hit < 100 {
		t.Errorf("only %d calls were interrupted", hit)
	}
}
