package powercut

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a root and a state directory in one directory.
type machine struct {
	bin string
	dir string
	env []string
}

func (m machine) root() string { return filepath.Join(m.dir, "root") }

// Exit codes of the program.
const (
	exitDone       = 0
	exitRolledBack = 6
)

// run types a command and gives its exit code, -1 when a signal ended it, and
// what it said.
func (m machine) run(ctx context.Context, args ...string) (int, string) {
	return m.start(ctx, args...)()
}

// start types a command; the function waits for its end.
func (m machine) start(ctx context.Context, args ...string) func() (int, string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	cmd := exec.CommandContext(ctx, m.bin, append(args, "--root", m.root(), "--state", filepath.Join(m.dir, "state"))...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TZ=UTC", "NO_COLOR=1", "GOMAXPROCS=2"}
	cmd.Env = append(cmd.Env, m.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		return func() (int, string) { return -1, err.Error() }
	}
	return func() (int, string) {
		defer cancel()
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), out.String()
	}
}

// origin makes the machine as fettle finds it: files with odd owners, modes,
// times and attributes, links, whole trees, and accounts.
func (m machine) origin(t testing.TB) {
	t.Helper()
	for _, d := range []string{"etc/app", "etc/cron.d", "srv/old/deep/er", "srv/was-tree", "usr/local/bin", "var/lib"} {
		must(t, os.MkdirAll(filepath.Join(m.root(), d), 0o755))
	}
	for i := range 24 {
		m.file(t, fmt.Sprintf("etc/app/%02d.conf", i), text("origin", i, 50+i*i*40), 0o644)
	}
	for i := range 9 {
		m.file(t, fmt.Sprintf("srv/old/deep/%d", i), text("old", i, 2000*i), 0o600)
	}
	m.file(t, "srv/old/deep/er/x", "x\n", 0o400)
	m.file(t, "srv/was-file", "a file\n", 0o604)
	m.file(t, "usr/local/bin/tool", text("tool", 0, 300_000), 0o4755)
	m.file(t, "etc/meta.conf", "who may read this\n", 0o666)
	m.file(t, "etc/edit.conf", "first = 1\n# a comment\nlast = 9\n", 0o644)
	m.file(t, "etc/gone.conf", "to be removed\n", 0o640)
	m.file(t, "etc/passwd", "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n", 0o644)
	m.file(t, "etc/group", "root:x:0:\nada:x:1000:\n", 0o644)
	m.file(t, "etc/shadow", "root:*:19000:0:99999:7:::\nada:!:19000:0:99999:7:::\n", 0o640)
	m.file(t, "etc/gshadow", "root:*::\nada:!::\n", 0o640)
	must(t, os.Symlink("nowhere", filepath.Join(m.root(), "etc/dangling")))
	must(t, os.Symlink("app", filepath.Join(m.root(), "etc/was-link")))
	must(t, syscall.Mkfifo(filepath.Join(m.root(), "srv/old/fifo"), 0o620))
	for i, name := range []string{"etc/app/03.conf", "etc/app/07.conf", "srv/old/deep/4", "etc/edit.conf"} {
		p := filepath.Join(m.root(), name)
		must(t, os.Lchown(p, 1000+i, 33))
		must(t, syscall.Setxattr(p, "user.note", []byte{byte(i), 0, 255}, 0))
	}
	must(t, age(m.root()))
}

func (m machine) file(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	p := filepath.Join(m.root(), name)
	must(t, os.WriteFile(p, []byte(text), 0o600))
	// os.Chmod takes the set-id bits elsewhere.
	must(t, syscall.Chmod(p, uint32(mode)))
}

// text is n bytes that are different for each word and number.
func text(word string, i, n int) string {
	line := fmt.Sprintf("%s %d\n", word, i)
	return line + strings.Repeat(strings.Repeat(word[:1], 59)+"\n", n/60)
}

// lists writes two versions of a list with their sources into dir and gives
// their files. Between them every verb on paths creates, changes and takes
// back; the accounts in between part the paths into large and small batches.
func lists(t testing.TB, dir string) (v1, v2 string) {
	t.Helper()
	var one, two strings.Builder
	add := func(b *strings.Builder, format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	copyTo := func(b *strings.Builder, source string, i, n int, to string) {
		must(t, os.WriteFile(filepath.Join(dir, source), []byte(text(source, i, n)), 0o644))
		add(b, "COPY %s %s", source, to)
	}
	for _, b := range []*strings.Builder{&one, &two} {
		add(b, "MKDIR /etc/app")
	}
	for i := range 20 {
		copyTo(&one, fmt.Sprintf("one-%d", i), i, 30*i*i, fmt.Sprintf("/etc/app/%02d.conf owner=0 mode=0640", i))
		if i%3 != 0 {
			copyTo(&two, fmt.Sprintf("two-%d", i), i, 25*i*i, fmt.Sprintf("/etc/app/%02d.conf mode=06%d0", i, i%8))
		}
	}
	add(&one, "RM /srv/old\nLINK /etc/app /srv/was-tree\nMKDIR /srv/was-file mode=0711")
	add(&two, "RM /srv/old/deep\nLINK app /etc/dangling\nMKDIR /srv/was-file mode=0750")
	for i := range 6 {
		copyTo(&one, fmt.Sprintf("below-%d", i), i, 500, fmt.Sprintf("/srv/was-file/%d", i))
	}
	add(&one, "GROUP web gid=500\nMKDIR /srv/web group=500 mode=2775")
	add(&two, "GROUP web gid=501\nMKDIR /srv/web group=501 mode=2770")
	for i := range 8 {
		copyTo(&one, fmt.Sprintf("web-%d", i), i, 9000, fmt.Sprintf("/srv/web/%d owner=33", i))
		copyTo(&two, fmt.Sprintf("web2-%d", i), i, 4000*i, fmt.Sprintf("/srv/web/%d owner=33", i+3))
	}
	copyTo(&one, "tool-1", 1, 200_000, "/usr/local/bin/tool mode=0755")
	copyTo(&two, "tool-2", 2, 250_000, "/usr/local/bin/tool mode=4755")
	add(&one, "USER web uid=500 group=web home=/srv/web shell=/usr/sbin/nologin system=true")
	add(&one, "META /etc/meta.conf owner=1000 mode=0600")
	add(&two, "META /etc/meta.conf group=33 mode=0640")
	add(&one, "EDIT /etc/edit.conf key=first value=2\nRM /etc/gone.conf")
	add(&two, "EDIT /etc/edit.conf block=two content=\"a = 1\\nb = 2\"\nLINK app/01.conf /etc/gone.conf")
	copyTo(&one, "link-1", 1, 10, "/etc/was-link")
	add(&two, "GROUP late gid=502\nRM /etc/was-link")
	copyTo(&two, "cron-2", 2, 100, "/etc/cron.d/fettle-test")
	v1, v2 = filepath.Join(dir, "v1.steps"), filepath.Join(dir, "v2.steps")
	must(t, os.WriteFile(v1, []byte(one.String()), 0o644))
	must(t, os.WriteFile(v2, []byte(two.String()), 0o644))
	return v1, v2
}
