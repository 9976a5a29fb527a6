package crash

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/test/needs"
)

const mutating = "mkdir,mkdirat,open,openat,openat2,creat,write,pwrite64,writev,truncate,ftruncate,fallocate," +
	"chown,fchown,lchown,fchownat,chmod,fchmod,fchmodat,?fchmodat2,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr," +
	"ioctl,utimensat,futimesat,fsync,fdatasync,syncfs,sync,symlink,symlinkat,link,linkat,mknod,mknodat,rename,renameat,renameat2,unlink,unlinkat,rmdir"

// TestNothingBypassesTheCounter compares what the program asks of the kernel
// with what it counts: a change that is not counted would never be killed at.
func TestNothingBypassesTheCounter(t *testing.T) {
	strace := needs.Program(t, "strace")
	s := newSite(t, first, second, func(s *site) { s.free = []string{"/etc/hosts"} })
	out, count := filepath.Join(filepath.Dir(s.dir), "strace"), filepath.Join(filepath.Dir(s.dir), "audit")
	tracer := []string{"sh", "-c", `umask 0; exec "$@"`, "sh", strace, "-f", "-qq", "-y", "-o", out, "-e",
		"trace=" + mutating}
	if text, err := s.under(tracer, 0, count, s.apply()...); err != nil {
		t.Fatalf("cannot trace: %v\n%s", err, text)
	}
	counted, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	calls := changes(t, out, s.dir)
	// The rename of the first object of a directory fails before it reaches the
	// kernel, for the directory is made only then.
	want := strings.Count(string(counted), "\n") - strings.Count(string(counted), "mkdir /objects/")
	t.Logf("%d system calls, %d operations counted", len(calls), want)
	if len(calls) != want || want < 100 {
		t.Errorf("%d system calls change something, %d operations were counted:\n%s\n%s", len(calls), want,
			strings.Join(calls, "\n"), counted)
	}
}

// changes are the traced calls that would change the root or the state. The
// lock says nothing about either, and is not counted.
func changes(t *testing.T, trace, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	opens := regexp.MustCompile(`^\d+ +open`)
	ioctl := regexp.MustCompile(`^\d+ +ioctl`)
	var out []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.Contains(line, dir+"/") && !strings.Contains(line, dir+">") &&
			!strings.Contains(line, `"/proc/self/fd/`),
			strings.Contains(line, `"lock"`), strings.Contains(line, "/state/lock>"),
			strings.Contains(line, " = -1 EISDIR"),      // a directory: removed by the next call
			strings.Contains(line, "mkdirat(AT_FDCWD<"), // the state directory itself, before there is a host
			opens.MatchString(line) && !strings.Contains(line, "O_CREAT"),
			ioctl.MatchString(line) && !strings.Contains(line, "SETFLAGS"):
			continue
		}
		out = append(out, line)
	}
	return out
}
