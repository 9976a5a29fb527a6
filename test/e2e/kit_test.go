package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// Exit codes that users script against.
const (
	success     = 0
	failed      = 1
	changes     = 2
	checkFailed = 3
	locked      = 4
	stale       = 5
	rolledBack  = 6
)

const repository = "/root/repo"

// machine is a host with fettle and a repository on it.
type machine struct {
	*hosts.Host
	t *testing.T
}

// newMachine boots a host with the real program and the apt repository's index.
func newMachine(t *testing.T, w *hosts.World, name string, r *hosts.Repo) *machine {
	t.Helper()
	m := &machine{Host: w.Boot(t, name, hosts.Options{Repo: r}), t: t}
	m.settle()
	installFettle(t, m.Host)
	return m
}

// eachRelease runs a test of the short set on every release, as subtests side by side, or
// on the one that FETTLE_TEST_RELEASE names. Tests run side by side, because they
// mostly wait for their hosts. The other tests run on the default release only. A sample has half of these tests on
// the default release, and a smaller part of them on the others.
func eachRelease(t *testing.T, f func(t *testing.T, r hosts.Release)) {
	t.Parallel()
	if r := hosts.ChosenRelease(); r != "" {
		f(t, r)
		return
	}
	for _, r := range hosts.Releases() {
		t.Run(string(r), func(t *testing.T) {
			if r == hosts.DefaultRelease() {
				sample.Half(t)
			} else {
				sample.ByName(t)
			}
			t.Parallel()
			f(t, r)
		})
	}
}

// reduced tells whether a test of the short set runs only its main parts on a release: all
// of it runs on the default release, and on the others at night.
func reduced(r hosts.Release) bool {
	return r != hosts.DefaultRelease() && os.Getenv("FETTLE_LONG") == ""
}

// debianRepo returns a repository with packages of a release, as Debian ships them.
func debianRepo(t *testing.T, r hosts.Release) *hosts.Repo {
	t.Helper()
	repo := hosts.NewRepo(t)
	repo.AddDebianOf(t, r)
	repo.Publish(t)
	return repo
}

// settle makes a plain host one that can be compared with: package lists read,
// and settings of its own network writable, which nspawn shows read-only.
func (m *machine) settle() {
	m.t.Helper()
	m.Run(m.t, "mount", "-o", "remount,bind,rw", "/proc/sys")
	m.Run(m.t, "apt-get", "update", "-q")
}

// output is what a command of fettle printed.
type output struct{ out, err string }

func (o output) all() string { return o.out + o.err }

// fettle runs the program in the repository and demands an exit code.
func (m *machine) fettle(code int, args ...string) output {
	m.t.Helper()
	r := m.Exec(append([]string{"env", "-C", repository, "fettle"}, args...)...)
	m.t.Logf("$ fettle %s  => %d\n%s%s", strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	if r.ExitCode != code {
		m.t.Fatalf("fettle %s: exit code %d, want %d", strings.Join(args, " "), r.ExitCode, code)
	}
	return output{r.Stdout, r.Stderr}
}

// says demands texts of an output.
func (m *machine) says(o output, texts ...string) {
	m.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.all(), text) {
			m.t.Errorf("fettle does not say %q", text)
		}
	}
}

// serves waits until the web server says a text: a reload returns before the
// old workers have gone.
func (m *machine) serves(path, text string) {
	m.t.Helper()
	m.await(fmt.Sprintf("%s says %q", path, text), func() bool {
		return strings.Contains(m.Exec("curl", "-s", "http://127.0.0.1"+path).Stdout, text)
	})
}

// write puts files of the repository.
func (m *machine) write(files map[string]string) {
	m.t.Helper()
	for name, text := range files {
		m.WriteFile(m.t, path.Join(repository, name), text, 0o644)
	}
}

// want demands what a command of the host prints, without the last line break.
func (m *machine) want(out string, argv ...string) {
	m.t.Helper()
	r := m.Exec(argv...)
	if got := strings.TrimSuffix(r.Stdout, "\n"); got != out {
		m.t.Errorf("%s prints %q %s, want %q", strings.Join(argv, " "), got, r.Stderr, out)
	}
}

func (m *machine) has(p string) bool { return m.Exec("test", "-e", p).ExitCode == 0 }

// await polls until the condition holds.
func (m *machine) await(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%s: %s did not come", m.Name, what)
		}
	}
}

// process is a command of fettle that is running.
type process struct {
	*exec.Cmd
	out  *said
	done chan struct{}
}

// said is what a process has printed so far.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// begin starts fettle, for a test that gets in its way. Wait with end.
func (m *machine) begin(args ...string) *process {
	m.t.Helper()
	cmd, err := m.Command(context.Background(), append([]string{"env", "-C", repository, "fettle"}, args...)...)
	if err != nil {
		m.t.Fatal(err)
	}
	p := &process{cmd, &said{}, make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p
}

// over tells whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end waits and gives the exit code, -1 for a signal.
func (m *machine) end(p *process) int {
	m.t.Helper()
	<-p.done
	m.t.Logf("$ %s  => %s\n%s", strings.Join(p.Args[5:], " "), p.ProcessState, p.out)
	return p.ProcessState.ExitCode()
}

// copyExample gives a host the web example with count more files in its site.
func (m *machine) copyExample(count int) {
	m.t.Helper()
	dir := filepath.Join(m.t.TempDir(), "web")
	if err := os.CopyFS(dir, os.DirFS("../../examples/web")); err != nil {
		m.t.Fatal(err)
	}
	for i := range count {
		p := filepath.Join(dir, "modules/web/files/site", fmt.Sprintf("part%d", i%10), fmt.Sprintf("page%03d.html", i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(p, fmt.Appendf(nil, "<p>page %d</p>\n", i), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	tar := dir + ".tar"
	if out, err := exec.Command("tar", "-C", dir, "-cf", tar, ".").CombinedOutput(); err != nil {
		m.t.Fatalf("tar: %v\n%s", err, out)
	}
	m.Copy(m.t, tar, "/root/web.tar")
	m.Run(m.t, "mkdir", "-p", repository)
	m.Run(m.t, "tar", "-C", repository, "--no-same-owner", "-xf", "/root/web.tar")
}

// git runs git in the repository.
func (m *machine) git(args ...string) string {
	m.t.Helper()
	return strings.TrimSpace(m.Run(m.t, append([]string{"git", "-C", repository, "-c", "user.name=Ann", "-c",
		"user.email=ann@example.org"}, args...)...))
}

// commit commits all of the repository and gives the commit.
func (m *machine) commit(subject string) string {
	m.t.Helper()
	m.git("add", "-A")
	m.git("commit", "-q", "-m", subject)
	return m.git("rev-parse", "HEAD")
}

// edit replaces a text of a file of the host, by a program that knows no
// fettle.
func (m *machine) edit(file, old, now string) {
	m.t.Helper()
	text := m.ReadFile(m.t, file)
	if !strings.Contains(text, old) {
		m.t.Fatalf("%s does not hold %q:\n%s", file, old, text)
	}
	m.Run(m.t, "sed", "-i", "s|"+old+"|"+now+"|", file)
}

// purgeRemoved deletes, without fettle, the configuration and data that fettle
// leaves of packages which it removed.
func (m *machine) purgeRemoved() {
	m.t.Helper()
	left := strings.Fields(m.Run(m.t, "sh", "-c",
		"dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^rc *//p'"))
	if len(left) > 0 {
		m.Run(m.t, append([]string{"dpkg", "--purge"}, left...)...)
	}
}

// runs counts the runs of the history.
func (m *machine) runs() int {
	m.t.Helper()
	return strings.Count(m.Run(m.t, "fettle", "log", "--json"), `"run":`)
}
