package lock

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// open starts fettle with no mask of modes at all, and waits.
func (m *machine) open(env []string, args ...string) string {
	m.t.Helper()
	p := m.prepare(args...)
	p.Cmd = exec.Command("/bin/sh", append([]string{"-c", `umask 000; exec "$0" "$@"`}, p.Args...)...)
	p.Stdout, p.Stderr = &p.out, &p.out
	p.Env = append(os.Environ(), env...)
	p.launch()
	p.end()
	return p.out.String()
}

// TestStateIsPrivate does everything that writes to the state directory without
// a mask of modes: what is kept is readable by its owner alone, also where
// somebody made the directory open before.
func TestStateIsPrivate(t *testing.T) {
	for _, before := range []string{"missing", "open", "made"} {
		t.Run(before, func(t *testing.T) {
			m := newMachine(t)
			m.t = t
			switch before {
			case "open":
				must(t, os.Mkdir(m.path("state"), 0o777), os.Chmod(m.path("state"), 0o777))
			case "made":
				m.fettle(success, "freeze", "--reason", "why")
				m.fettle(success, "unfreeze")
				must(t, os.Chmod(m.path("state"), 0o755))
			}
			m.rich(t)
			kinds := map[string]int{}
			err := filepath.WalkDir(m.path("state"), func(p string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				want := fs.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				if info.Mode().Perm() != want {
					t.Errorf("%s has mode %o, want %o", p, info.Mode().Perm(), want)
				}
				rel, _ := filepath.Rel(m.path("state"), p)
				kinds[strings.Split(rel, "/")[0]]++
				return nil
			})
			must(t, err)
			for _, k := range []string{"journal", "objects", "packs", "state", "cache", "lock", "armed", "frozen", "ballast",
				"current"} {
				if kinds[k] == 0 {
					t.Errorf("nothing was written to %s, so this shows nothing of it", k)
				}
			}
			for name, want := range map[string]fs.FileMode{"plan": 0o600, "bundle": 0o600, "root/srv/many/0": 0o644} {
				if info, err := os.Stat(m.path(name)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v, want mode %o", name, info, err, want)
				}
			}
		})
	}
}

// rich runs all that keeps something.
func (m *machine) rich(t *testing.T) {
	list := "MKDIR /srv/many\n"
	for i := range 80 {
		m.put(fmt.Sprintf("src/%d", i), fmt.Sprint("content ", i))
		m.put(fmt.Sprintf("root/srv/many/%d", i), fmt.Sprint("before ", i))
		list += fmt.Sprintf("COPY src/%d /srv/many/%d\n", i, i)
	}
	m.put("many.steps", list)
	m.put("repo/fettle.hcl", repository)
	m.open(killAt(60), "steps", "apply", "--yes", m.path("many.steps"))
	m.open(nil, "recover")
	m.open(nil, "steps", "apply", "--yes", m.path("many.steps"))
	m.open(nil, "plan", "--replace-applied-state", "-o", m.path("plan"))
	m.open(nil, "apply", "--replace-applied-state", "--yes")
	m.open(nil, "rollback", "--yes", "origin")
	m.open(nil, "steps", "apply", "--replace-applied-state", "--yes", "--confirm-within", "1h", m.path("many.steps"))
	m.unwatch()
	m.open(nil, "freeze", "--reason", "why")
	m.open(nil, "support-bundle", "-o", m.path("bundle"))
	m.open(nil, "gc", "--yes")
	m.open(nil, "drift", "--verify")
	if st := m.status(); st.Armed == nil || st.Frozen == nil {
		t.Fatalf("not all was done: %+v", st)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestWhoDidIt: the history says who ran what, from where, as which process and
// from which revision, and keeps what was given in secret to itself.
func TestWhoDidIt(t *testing.T) {
	m := newMachine(t)
	m.put("repo/fettle.hcl",
		"target \"host\" {}\nvariable \"password\" { type = string }\nfile \"/srv/a\" { content = var.password }\n")
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", m.path("repo"), "-c", "user.name=Ann", "-c",
			"user.email=ann@example.org"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "the first")
	commit := git("rev-parse", "HEAD")
	env := []string{"USER=root", "SUDO_USER=ann", "SSH_CONNECTION=192.0.2.7 51234 192.0.2.1 22"}
	p := m.begin(env, "apply", "--yes", "--var", "password=SECRET-a", "--var=other=SECRET-b")
	if code := p.end(); code != success && code != failed {
		t.Fatalf("it ended with %d:\n%s", code, p.out.String())
	}
	if !m.has("root/srv/a") {
		p = m.begin(env, "apply", "--yes", "--var", "password=SECRET-a")
		if code := p.end(); code != success {
			t.Fatalf("it ended with %d:\n%s", code, p.out.String())
		}
	}
	says := m.fettle(success, "log", "1")
	m.says(says, "ann as root", "ssh 192.0.2.7", "pid "+strconv.Itoa(p.Process.Pid), "--var password=…",
		"fettle apply --yes", commit[:7])
	m.says(m.fettle(success, "log"), "ann as root", commit[:7])
	json := m.fettle(success, "log", "--json")
	m.says(json, `"user": "ann as root"`, `"from": "ssh 192.0.2.7"`, `"pid": `+strconv.Itoa(p.Process.Pid), commit)
	if all := says + json + m.fettle(success, "show", "1", "--json"); strings.Contains(all, "SECRET") {
		t.Errorf("the history tells a secret:\n%s", all)
	}
	q := m.begin([]string{"USER=", "LOGNAME=", "SUDO_USER="}, "rollback", "--yes", "origin")
	if code := q.end(); code != success {
		t.Fatalf("it ended with %d:\n%s", code, q.out.String())
	}
	who, err := exec.Command("id", "-un").Output()
	must(t, err)
	m.says(m.fettle(success, "log", "2"), strings.TrimSpace(string(who))+" (script)")
}

// TestBundleOfACrashHoldsNoSecret: nor does that of a machine in the middle of a
// run, whose journal and environment are full of them.
func TestBundleOfACrashHoldsNoSecret(t *testing.T) {
	m := onThisMachine(t,
		phase{list: "COPY next WORK/a mode=0600\nEXEC says /bin/sh -c \"echo SECRET-output; echo SECRET-error >&2; exit 3\" env=API=SECRET-env undo=/bin/true\n"})
	must(t, os.WriteFile(m.work+"/a", []byte("SECRET-before"), 0o600))
	m.put("next", "SECRET-wanted")
	env := []string{"TOKEN=SECRET-ours"}
	p := m.begin(env, "steps", "apply", "--yes", m.path("phase.steps"))
	if p.end(); !strings.Contains(p.out.String(), "SECRET-error") {
		t.Fatalf("the secret was never there:\n%s", p.out.String())
	}
	m.put("phase.steps", m.read("phase.steps")+"EXEC hold /bin/sh "+m.dir+"/tree.sh "+m.dir+" undo=/bin/true\n")
	m.put("phase.steps", strings.Replace(m.read("phase.steps"), "exit 3", "exit 0", 1))
	p = m.inThePhase(phase{})
	p.signal(syscall.SIGKILL)
	m.await("its end", p.over)
	b := m.begin(env, "support-bundle", "-o", m.path("bundle.tar.gz"))
	if code := b.end(); code != success {
		t.Fatalf("it ended with %d:\n%s", code, b.out.String())
	}
	names := 0
	for name, text := range unpacked(t, m.path("bundle.tar.gz")) {
		names++
		if strings.Contains(text, "SECRET") {
			t.Errorf("%s holds a secret:\n%s", name, text)
		}
	}
	if names < 8 {
		t.Errorf("the bundle holds only %d files", names)
	}
	m.put("tree.sh", "exit 0\n")
	m.fettle(success, "recover")
}

func (m *machine) read(name string) string {
	m.t.Helper()
	b, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		out[h.Name] = string(text)
	}
}
