package crash

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	for _, line := range wholeCalls(string(b)) {
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

// wholeCalls returns the lines of a trace. If another thread had a call at the same time, strace writes the begin and
// the end of a call on two lines, which are joined here.
func wholeCalls(trace string) (out []string) {
	begun := map[string]string{} // by thread
	resumed := regexp.MustCompile(`^<\.\.\. \w+ resumed>`)
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		thread, call, _ := strings.Cut(line, " ")
		call = strings.TrimSpace(call)
		if begin, ok := strings.CutSuffix(line, "<unfinished ...>"); ok {
			begun[thread] = begin
			continue
		}
		if mark := resumed.FindString(call); mark != "" {
			line = begun[thread] + strings.TrimPrefix(call, mark)
		}
		out = append(out, line)
	}
	return out
}

func TestWholeCalls(t *testing.T) {
	got := wholeCalls("7 openat(3, \"a\", O_RDONLY <unfinished ...>\n8  fsync(4) = 0\n7 <... openat resumed>) = 5\n")
	if want := []string{"8  fsync(4) = 0", `7 openat(3, "a", O_RDONLY ) = 5`}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
