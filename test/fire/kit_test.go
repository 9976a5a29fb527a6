package fire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/hosts"
)

// Exit codes that users script against.
const (
	success    = 0
	failed     = 1
	rolledBack = 6
)

const (
	repository = "/root/repo"
	// limit is far above what any command here takes.
	limit = 3 * time.Minute
)

// machine is a host with fettle, a repository and an archive of packages.
type machine struct {
	*hosts.Host
	t       *testing.T
	archive *hosts.Repo
	unnoted *int // configuration files that a killed dpkg left exchanged
}

// newMachine boots a host with the real program.
func newMachine(t *testing.T, name string, archive *hosts.Repo) *machine {
	t.Helper()
	archive.Publish(t)
	m := &machine{Host: hosts.NewWorld(t).Boot(t, name, hosts.Options{Repo: archive}), t: t, archive: archive,
		unnoted: new(int)}
	m.update()
	m.Copy(t, build(t), "/usr/local/bin/fettle")
	return m
}

// build makes the program, which leaves out syncs: nothing here loses what was
// written, and each sync waits for all that others write on this machine.
func build(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"../../cmd", "../../internal"} { // go test's cache has to see the sources
		if err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(p)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle, "-tags", "fettlenosync"); err != nil {
		t.Fatal(err)
	}
	return bin
}

// with is the machine in a test of its own.
func (m *machine) with(t *testing.T) *machine { return &machine{m.Host, t, m.archive, m.unnoted} }

// update makes the host read what the archive has.
func (m *machine) update() {
	m.t.Helper()
	m.Run(m.t, "apt-get", "update", "-q")
}

// only makes text the whole repository.
func (m *machine) only(text string) {
	m.t.Helper()
	m.WriteFile(m.t, path.Join(repository, "fettle.hcl"), text, 0o644)
}

// output is how a command of fettle ended.
type output struct {
	code int
	text string
}

func argv(args ...string) []string {
	return append([]string{"env", "-C", repository, "fettle"}, args...)
}

// fettle runs the program in the repository and demands an exit code.
func (m *machine) fettle(code int, args ...string) output {
	m.t.Helper()
	o := m.run(argv(args...)...)
	m.t.Logf("$ fettle %s  => %d\n%s", strings.Join(args, " "), o.code, o.text)
	if o.code != code {
		m.t.Fatalf("fettle %s: exit code %d, want %d", strings.Join(args, " "), o.code, code)
	}
	return o
}

// run runs a command of the host, which is ended at the limit.
func (m *machine) run(argv ...string) output {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd, err := m.Command(ctx, argv...)
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.WaitDelay = time.Second
	text, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		m.t.Errorf("%s took longer than %s:\n%s", strings.Join(argv, " "), limit, m.Run(m.t, "ps", "axfo", "pid,stat,args"))
	}
	return output{cmd.ProcessState.ExitCode(), string(text)}
}

// apply makes text the whole repository and applies it.
func (m *machine) apply(code int, text string) output {
	m.t.Helper()
	m.only(text)
	return m.fettle(code, "apply", "--yes")
}

// traced runs fettle under the tracer, to kill at a point; 0 is never. It also
// gives what the tracer wrote: the points, or the one at which it killed.
func (m *machine) traced(at int, who victim, args ...string) (o output, points []string) {
	m.t.Helper()
	log := filepath.Join(m.t.TempDir(), "points")
	cmd, err := m.Command(context.Background(), argv(args...)...)
	if err != nil {
		m.t.Fatal(err)
	}
	done, tell, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := os.Create(log + ".out")
	if err != nil {
		m.t.Fatal(err)
	}
	tracer := exec.Command("/proc/self/exe", append([]string{fmt.Sprint(at), string(who), log, cmd.Path},
		cmd.Args[1:]...)...)
	tracer.Env = append(cmd.Env, envTracer+"=1")
	tracer.Stdout, tracer.Stderr, tracer.ExtraFiles = out, out, []*os.File{tell}
	if err := errors.Join(tracer.Start(), tell.Close(), out.Close()); err != nil {
		m.t.Fatal(err)
	}
	go tracer.Wait() // what the command left may take longer than the test
	defer time.AfterFunc(limit, func() { tracer.Process.Kill() }).Stop()
	code, err := io.ReadAll(done)
	text, rerr := os.ReadFile(out.Name())
	if err := errors.Join(err, rerr, done.Close()); err != nil {
		m.t.Fatal(err)
	}
	o = output{-2, string(text)}
	fmt.Sscan(string(code), &o.code)
	b, err := os.ReadFile(log)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, o.text)
	}
	return o, strings.Split(strings.TrimSpace(string(b)), "\n")
}

// says demands texts of an output.
func (m *machine) says(o output, texts ...string) {
	m.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.text, text) {
			m.t.Errorf("fettle does not say %q:\n%s", text, o.text)
		}
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

// status is dpkg's word on a package: "ii 1.0", "" for one that it does not
// know.
func (m *machine) status(name string) string {
	return strings.TrimSpace(m.Exec("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name).Stdout)
}

// clean demands that dpkg has nothing to complain about.
func (m *machine) clean() {
	m.t.Helper()
	m.want("", "dpkg", "--audit")
	m.want("0", "sh", "-c", "ls /var/lib/dpkg/updates | grep -c '^[0-9]'") // updates that are not merged yet
}

// await polls until the condition holds.
func (m *machine) await(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%s: %s did not come", m.Name, what)
		}
	}
}
