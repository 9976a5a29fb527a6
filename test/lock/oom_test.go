package lock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/test/campaign"
)

// TestOutOfMemory lets the kernel kill for real: a command of the run, or fettle
// itself, in a control group with too little memory.
func TestOutOfMemory(t *testing.T) {
	t.Run("command", func(t *testing.T) {
		ph := phase{list: "COPY next WORK/a\nEXEC eats /bin/sh -c \"head -c 400000000 /dev/zero | tail > /dev/null; exit 9\" undo=/bin/true\n"}
		m := onThisMachine(t, ph)
		p := m.limited(t, 96<<20, nil, "steps", "apply", "--yes", "--on-failure", "undo", m.path("phase.steps"))
		if code := p.end(); code != rolledBack {
			t.Errorf("it ended as %v:\n%s", p.ProcessState, p.out.String())
		}
		m.settled()
	})
	t.Run("fettle", killsFettle)
}

// killsFettle tries ever more memory until a run comes to its end. Every one
// that the kernel killed before is recovered.
func killsFettle(t *testing.T) {
	w := newMachine(t)
	list := ""
	for i := range 400 {
		w.put(fmt.Sprintf("src/%d", i), strings.Repeat(fmt.Sprint(i), 20000))
		list += fmt.Sprintf("COPY src/%d /srv/%d\n", i, i)
	}
	w.put("many.steps", list)
	before := w.fingerprint(t, "root")
	points, hit, lost, step := 0, 0, 0, 64<<20
	if os.Getenv("FETTLE_LONG") != "" {
		step = 8 << 20
	}
	for limit := 32 << 20; ; limit += step {
		m := w.copy(t)
		p := m.limited(t, limit, []string{"GOGC=off"}, "steps", "apply", "--yes", m.path("many.steps"))
		p.end()
		points++
		if p.endedBy() != syscall.SIGKILL {
			if p.ProcessState.ExitCode() != success {
				t.Errorf("with %d MiB it ended as %v:\n%.2000s", limit>>20, p.ProcessState, p.out.String())
			}
			break
		}
		ok := t.Run(fmt.Sprint(limit>>20), func(t *testing.T) {
			m.t = t
			if m.has("state") && m.status().Unfinished > 0 {
				hit++
			}
			m.fettle(success, "recover")
			m.fettle(success, "steps", "apply", "--yes", m.path("many.steps"))
			m.fettle(success, "rollback", "--yes", "origin")
			if d := differs(before, m.fingerprint(t, "root")); len(d) > 0 {
				t.Errorf("not as it was:\n%s", strings.Join(d, "\n"))
			}
		})
		if !ok {
			lost++
		}
	}
	campaign.Record(t, campaign.Campaign{Name: "Out of memory", Variant: "the kernel kills fettle", Points: points,
		Hit: hit, Lost: lost,
		Detail: "a run in a control group of 16 MiB and more, until it completes; recovered, applied, undone, compared"})
}

// limited starts fettle in a control group of its own with so many bytes.
func (m *machine) limited(t *testing.T, limit int, env []string, args ...string) *process {
	t.Helper()
	dir := memoryGroup(t, limit)
	p := m.prepare(args...)
	p.Cmd = exec.Command("/bin/sh", append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, dir}, p.Args...)...)
	p.Stdout, p.Stderr = &p.out, &p.out
	p.Env = append(os.Environ(), env...)
	p.launch()
	return p
}

// memoryGroup makes a control group with a limit, of either version.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	for parent, file := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes",
		"/sys/fs/cgroup": "memory.max"} {
		dir := filepath.Join(parent, fmt.Sprintf("fettle-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		_, err = fmt.Fprint(f, limit)
		if err = errors.Join(err, f.Close()); err == nil {
			return dir
		}
	}
	t.Skip("this machine gives no control group with a limit of memory")
	return ""
}
