package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// markName is the variable by which descendants of a run are known after
	// they left its session and lost their parents.
	markName  = "FETTLE_RUN="
	killLimit = 10 * time.Second
	killPause = 5 * time.Millisecond
)

// process is one entry of /proc. pid and start together identify it permanently.
type process struct {
	pid, parent, session int
	start                uint64
	zombie               bool
}

// id names a process across reuse of its number.
type id struct {
	pid   int
	start uint64
}

func (p process) id() id { return id{p.pid, p.start} }

// tree is everything that one run started.
type tree struct {
	mark  string // NAME=VALUE in the environment
	main  int    // its process and session, 0 before the start
	seen  map[id]bool
	other map[id]bool // children of ours from before, which are not its own
	alone bool        // no other run was active beside it, so that every new orphan is its own
}

// runs are the active runs of a host. The zero value is ready.
//
// While a run is active, this process adopts orphaned descendants (it is a child subreaper), so
// that daemons remain reachable. Processes that survive a run are recorded and reaped later.
type runs struct {
	mu     sync.Mutex
	active map[*tree]bool
	left   map[id]bool
}

func (r *runs) enter(t *tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.active) == 0 {
		r.active = map[*tree]bool{}
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	t.alone = len(r.active) == 0
	for other := range r.active {
		other.alone = false
	}
	r.active[t] = true
	t.seen, t.other = map[id]bool{}, map[id]bool{}
	r.reap()
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			t.other[p.id()] = true
		}
	}
}

func (r *runs) started(t *tree, pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.main = pid
}

func (r *runs) leave(t *tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, t)
	if r.left == nil {
		r.left = map[id]bool{}
	}
	for _, p := range t.members(processes()) {
		if p.parent == os.Getpid() && p.pid != t.main {
			r.left[p.id()] = true
		}
	}
	r.reap()
	if len(r.active) == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// reap collects the ends of adopted processes. Only their own numbers are
// waited for: a wait for any child would steal from os/exec.
func (r *runs) reap() {
	for i := range r.left {
		if reaped(i.pid) {
			delete(r.left, i)
		}
	}
}

func reaped(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}

// kill kills until no process of the tree is left. New children of a killed process are found in
// the next round.
func (r *runs) kill(t *tree) error {
	deadline := time.Now().Add(killLimit)
	for {
		alive := 0
		r.mu.Lock()
		members := t.members(processes())
		r.mu.Unlock()
		for _, p := range members {
			if !p.zombie {
				alive++
				killProcess(p)
			} else if p.pid != t.main && p.parent == os.Getpid() {
				_ = reaped(p.pid)
			}
		}
		if alive == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of its processes do not end although they were killed", alive)
		}
		time.Sleep(killPause)
	}
}

// killProcess kills exactly this process, not a later process with the same number.
func killProcess(p process) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProcess(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// members returns the tree's processes: by session, by mark, by parent, and as an orphan that can
// have no other origin. It records them.
func (t *tree) members(all []process) []process {
	self := os.Getpid()
	in := map[int]bool{}
	for _, p := range all {
		if p.pid == self || t.other[p.id()] {
			continue
		}
		if t.seen[p.id()] || p.session == t.main && t.main != 0 || t.marked(p) || t.orphan(p, self) {
			in[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && in[p.parent] {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] {
			t.seen[p.id()] = true
			out = append(out, p)
		}
	}
	return out
}

// orphan reports whether an adopted process must belong to the tree although it changed both
// session and environment. Children that this process started for other purposes share its session.
func (t *tree) orphan(p process, self int) bool {
	own, err := unix.Getsid(0)
	return t.alone && t.main != 0 && err == nil && p.parent == self && p.session != own
}

// marked reads the environment that a process was started with.
func (t *tree) marked(p process) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == t.mark {
			return true
		}
	}
	return false
}

// processes returns the running processes, without processes that end meanwhile.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	found, _ := dir.Readdirnames(-1)
	var out []process
	for _, name := range found {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// readProcess reads /proc/PID/stat. The name in it can contain any text, so parsing starts after
// the last ')'.
func readProcess(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	session, err2 := strconv.Atoi(f[3])
	start, err3 := strconv.ParseUint(f[19], 10, 64)
	return process{pid: pid, parent: parent, session: session, start: start, zombie: f[0] == "Z" || f[0] == "X"},
		errors.Join(err1, err2, err3) == nil
}
