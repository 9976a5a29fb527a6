package local_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
)

// trap is one way in which a file system gives back less than was put in, or
// does other things than were asked for.
type trap struct {
	name   string
	mounts bool // it needs mounts of its own
	try    func(*machine)
}

// traps are those that have no test of their own beside this table:
// TestImmutableFileIsNotTouched, TestHardLinkedTargetIsRefused,
// TestBindMountedFileIsWrittenInPlace, TestAccessListsAreThoseOfSetfacl,
// TestCapabilitiesSurviveAChangeOfOwner, TestHugeSparseFile and
// TestPlantedLinkOnTheWayIsNotFollowed.
var traps = []trap{
	{"a change of owner clears set-id bits and capabilities", false, trapOwner},
	{"the mask of an access list is not the mode of the group", false, trapMask},
	{"a default access list is for new things", false, trapDefaultList},
	{"attributes of a directory are for new things", false, trapInheritedAttrs},
	{"nothing leaves a directory that is append-only", false, trapAppendOnlyDirectory},
	{"a file can be of just 1970", false, trapEpoch},
	{"a hole can be as small as a block", false, trapSmallHole},
	{"one of two names goes", false, trapOneName},
	{"another file system below", true, trapOtherFileSystem},
	{"a program runs while it is replaced", false, trapRunning},
	{"a program runs that cannot be renamed over", true, trapRunningMounted},
	{"a writer has the file open", false, trapOpenWriter},
	{"a file changes while it is read", false, trapChangedWhileRead},
	{"a file changes after it was read", false, trapChangedAfterRead},
	{"a tree is deeper than a path can say", false, trapDeep},
}

func TestTraps(t *testing.T) {
	needRoot(t)
	for _, c := range traps {
		if !c.mounts {
			t.Run(c.name, func(t *testing.T) { c.try(newMachine(t)) })
		}
	}
}

func TestTrapsOfMounts(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	for _, c := range traps {
		if c.mounts {
			t.Run(c.name, func(t *testing.T) { c.try(newMachine(t)) })
		}
	}
}

func (m *machine) xattr(p, name string, value []byte) {
	m.t.Helper()
	if err := unix.Setxattr(m.at(p), name, value, 0); err != nil {
		m.t.Skipf("no %s here: %v", name, err)
	}
}

// list is an access list in the kernel's form: owner, user 1000, group, mask
// and others have these permissions.
func list(owner, user, group, mask, others uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, owner, ^uint32(0)}, {2, user, 1000}, {4, group, ^uint32(0)}, {16, mask, ^uint32(0)}, {32, others, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func trapOwner(m *machine) {
	m.write("/srv/tool", "same")
	m.must(os.Chown(m.at("/srv/tool"), 33, 44))
	m.must(unix.Chmod(m.at("/srv/tool"), 0o6755))
	m.xattr("/srv/tool", "security.capability", capability)
	look := func() {
		if x := fmt.Sprint(xattrs(m.at("/srv/tool"))); !strings.Contains(x, "capability") {
			m.t.Errorf("the content is the same and the capability went: %s", x)
		}
	}
	m.cycle("META /srv/tool owner=1000\n", nil, look)
	m.cycle("COPY same /srv/tool owner=1000 mode=4711\n", map[string]string{"same": "same"}, look)
	m.cycle("RM /srv/tool\n", nil, nil)
}

func trapMask(m *machine) {
	m.write("/srv/f", "x")
	m.must(unix.Chmod(m.at("/srv/f"), 0o600))
	m.xattr("/srv/f", "system.posix_acl_access", list(6, 7, 7, 4, 0))
	for _, l := range []string{"RM /srv/f\n", "COPY a /srv/f mode=0644\n", "META /srv/f mode=0600\n",
		"META /srv/f acl=-\n", "META /srv/f acl=u:33:rw mode=0640\n", "META /srv/f owner=33\n", "LINK x /srv/f\n"} {
		m.cycle(l, map[string]string{"a": "A"}, nil)
	}
}

// What people set on a directory counts for files that were never there. What
// comes back, or gets other content, has what it had.
func trapDefaultList(m *machine) {
	m.write("/srv/d/plain", "x")
	m.write("/srv/d/tree/sub/plain", "x")
	m.must(unix.Mkfifo(m.at("/srv/d/fifo"), 0o644))
	m.xattr("/srv/d", "system.posix_acl_default", list(7, 6, 5, 7, 0))
	for _, l := range []string{"RM /srv/d/plain\n", "RM /srv/d/tree\n", "RM /srv/d/fifo\n", "RM /srv/d\n",
		"LINK x /srv/d/plain\n"} {
		m.cycle(l, nil, nil)
	}
	m.cycle("COPY a /srv/d/plain\nCOPY b /srv/d/new\n", map[string]string{"a": "A", "b": "B"}, func() {
		if x := xattrs(m.at("/srv/d/plain")); len(x) > 0 {
			m.t.Errorf("a file that was there got %s", x)
		}
		if x := xattrs(m.at("/srv/d/new")); len(x) == 0 {
			m.t.Error("a new file got no access list of its directory")
		}
	})
	m.undoes(failing, map[string]string{"a": "A"})
}

// failing fails after it has made things in /srv/d.
const failing = "COPY a /srv/d/new\nMKDIR /srv/d/dir\nCOPY a /srv/d/dir/in\nEXEC fails /no/such/program\n"

// undoes applies a list that fails and is undone whole.
func (m *machine) undoes(list string, files map[string]string) {
	m.t.Helper()
	before := m.tree()
	_, err := m.x.Apply(m.t.Context(), m.request(list, files), nil, executor.Options{OnFailure: "undo"}, nil)
	if !errors.Is(err, executor.ErrUndone) {
		m.t.Errorf("it ended with %v", err)
	}
	if after := m.tree(); after != before {
		m.t.Errorf("undone is not as before:\n%s\nwas\n%s", after, before)
	}
}

func (m *machine) flagsOf(p string) int {
	m.t.Helper()
	f, err := os.Open(m.at(p))
	m.must(err)
	defer f.Close()
	v, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	m.must(err)
	return v & 0x380ff
}

func trapInheritedAttrs(m *machine) {
	const noDump = 0x40
	m.write("/srv/d/plain", "x")
	m.write("/srv/d/tree/sub/plain", "x")
	m.flags("/srv/d", noDump)
	for _, l := range []string{"COPY a /srv/d/plain\n", "RM /srv/d/plain\n", "RM /srv/d/tree\n", "RM /srv/d\n"} {
		m.cycle(l, map[string]string{"a": "A"}, nil)
		if a, b, c := m.flagsOf("/srv/d/plain"), m.flagsOf("/srv/d/tree/sub/plain"), m.flagsOf("/srv/d"); a != 0 ||
			b != 0 || c != noDump {
			m.t.Errorf("after %s and back: %x, %x, and %x of the directory", l, a, b, c)
		}
	}
	m.undoes(failing, map[string]string{"a": "A"})
}

func trapAppendOnlyDirectory(m *machine) {
	m.write("/srv/d/f", "x")
	m.flags("/srv/d", host.AttrAppend)
	m.t.Cleanup(func() { m.flags("/srv/d", 0) })
	for _, l := range []string{"COPY a /srv/d/f\n", "COPY a /srv/d/new\n", "MKDIR /srv/d/new\n", "LINK x /srv/d/new\n",
		"RM /srv/d/f\n", "EDIT /srv/d/f line=y\n"} {
		m.refuses("COPY a /etc/hostname\n"+l, map[string]string{"a": "web1\n"}, "/srv/d", "chattr")
	}
	m.cycle("META /srv/d/f mode=0600\n", nil, nil)
	m.cycle("META /srv/d attrs=-\nCOPY a /srv/d/f\n", map[string]string{"a": "A"}, nil)
}

func trapEpoch(m *machine) {
	m.write("/srv/d/f", "x")
	for _, ns := range []int64{0, 1, -1} {
		for _, p := range []string{"/srv/d/f", "/srv/d"} {
			m.must(unix.UtimesNanoAt(unix.AT_FDCWD, m.at(p), []unix.Timespec{unix.NsecToTimespec(ns), unix.NsecToTimespec(ns)},
				0))
			m.cycle("RM /srv/d\n", nil, nil)
			if st, err := os.Stat(m.at(p)); err != nil || st.ModTime().UnixNano() != ns {
				m.t.Errorf("%s of %d ns came back of %v, %v", p, ns, st.ModTime().UnixNano(), err)
			}
		}
	}
}

func trapSmallHole(m *machine) {
	m.write("/srv/f", strings.Repeat("x", 4096))
	m.must(os.Truncate(m.at("/srv/f"), 3*4096))
	f, err := os.OpenFile(m.at("/srv/f"), os.O_WRONLY, 0)
	m.must(err)
	_, err = f.WriteAt([]byte("tail"), 2*4096)
	m.must(errors.Join(err, f.Sync(), f.Close()))
	blocks := func() int64 {
		var st unix.Stat_t
		m.must(unix.Stat(m.at("/srv/f"), &st))
		return st.Blocks
	}
	was := blocks()
	if was >= 24 {
		m.t.Skip("this file system keeps no such holes")
	}
	m.cycle("RM /srv/f\n", nil, nil)
	if is := blocks(); is != was {
		m.t.Errorf("it has %d blocks, it had %d", is, was)
	}
}

// A name can go while others stay. What comes back is a file of its own, and the
// plan says that there are others.
func trapOneName(m *machine) {
	m.write("/srv/one", "shared")
	m.must(os.Link(m.at("/srv/one"), m.at("/srv/two")))
	r := m.request("RM /srv/one\n", nil)
	p, err := m.x.Plan(m.t.Context(), r)
	m.must(err)
	if len(p.Changes) != 1 || !strings.Contains(p.Changes[0].Note, "2 hard links") {
		m.t.Errorf("the plan does not say it: %+v", p.Changes)
	}
	m.cycle("RM /srv/one\n", nil, func() { m.want("/srv/two", "shared") })
}

func trapOtherFileSystem(m *machine) {
	m.must(os.MkdirAll(m.at("/srv/tree/other"), 0o755))
	m.mount("tmpfs", "/srv/tree/other", "tmpfs", 0, "size=4m")
	m.write("/srv/tree/other/f", "old")
	m.write("/srv/tree/other/dir/x", "x")
	m.must(os.Symlink("f", m.at("/srv/tree/other/l")))
	m.cycle("COPY a /srv/tree/other/f\nMKDIR /srv/tree/other/new\nCOPY b /srv/tree/other/new/in\nLINK z /srv/tree/other/l\nRM /srv/tree/other/dir\n",
		map[string]string{"a": "A", "b": "B"}, func() { m.want("/srv/tree/other/f", "A") })
	m.cycle("LINK z /srv/tree/other/f\n", nil, nil)
	for _, l := range []string{"RM /srv/tree\n", "RM /srv/tree/other\n", "MKDIR /srv/tree purge=true\n",
		"COPY a /srv/tree/other\n"} {
		m.refuses("COPY a /etc/hostname\n"+l, map[string]string{"a": "web1\n"}, "/srv/tree")
	}
	m.cycle("META /srv/tree/other mode=0700\n", nil, nil)
}

// program puts a program at p and runs it until the test ends.
func (m *machine) program(p string) *exec.Cmd {
	m.t.Helper()
	sleep, err := exec.LookPath("sleep")
	m.must(err)
	b, err := os.ReadFile(sleep)
	m.must(err)
	m.must(errors.Join(os.WriteFile(m.at(p), b, 0o755), os.Chmod(m.at(p), 0o755)))
	c := exec.Command(m.at(p), "600")
	err = c.Start()
	for deadline := time.Now().Add(time.Minute); errors.Is(err, syscall.ETXTBSY) &&
		time.Now().Before(deadline); err = c.Start() {
		c = exec.Command(m.at(p), "600") // a child of another test may have it open for writing
	}
	m.must(err)
	m.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func trapRunning(m *machine) {
	c := m.program("/srv/prog")
	was := m.read("/srv/prog")
	runs := func() {
		exe, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(c.Process.Pid), "exe"))
		if err != nil || string(exe) != was {
			m.t.Errorf("the program that runs is not what was started: %d bytes, %v", len(exe), err)
		}
	}
	m.cycle("COPY a /srv/prog mode=0755\n", map[string]string{"a": "new"}, runs)
	runs()
	m.cycle("RM /srv/prog\n", nil, runs)
	m.cycle("META /srv/prog mode=0700\n", nil, runs)
	m.want("/srv/prog", was)
}

func trapRunningMounted(m *machine) {
	m.write("/srv/prog", "")
	m.mount(m.at("/srv/prog"), "/srv/prog", "", unix.MS_BIND, "")
	m.program("/srv/prog")
	m.refuses("COPY a /srv/prog mode=0755\n", map[string]string{"a": "new"}, "/srv/prog", syscall.ETXTBSY.Error())
}

func trapOpenWriter(m *machine) {
	m.write("/srv/log", "begin\n")
	f, err := os.OpenFile(m.at("/srv/log"), os.O_WRONLY|os.O_APPEND, 0)
	m.must(err)
	defer f.Close()
	write := func() {
		_, err := f.WriteString("more\n")
		m.must(err)
	}
	m.cycle("COPY a /srv/log\n", map[string]string{"a": "A"}, func() {
		write() // into the file that is gone
		m.want("/srv/log", "A")
	})
	m.want("/srv/log", "begin\n")
	g, err := os.OpenFile(m.at("/srv/log"), os.O_WRONLY|os.O_APPEND, 0)
	m.must(err)
	f.Close()
	f = g
	m.apply("META /srv/log mode=0600\n", nil)
	write() // metadata is changed in place: the writer goes on with the same file
	m.rollback(0)
	m.want("/srv/log", "begin\nmore\n")
}

// trapDeep makes a tree whose paths no call takes as a whole.
func trapDeep(m *machine) {
	m.must(os.MkdirAll(m.at("/srv/deep"), 0o755))
	fd, err := unix.Open(m.at("/srv/deep"), unix.O_DIRECTORY|unix.O_RDONLY, 0)
	m.must(err)
	name := strings.Repeat("d", 250)
	for range 20 {
		m.must(unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
		m.must(errors.Join(err, unix.Close(fd)))
		fd = next
	}
	m.must(unix.Close(fd))
	before := depth(m, name)
	if _, err := m.x.Apply(m.t.Context(), m.request("COPY a /etc/hostname\nRM /srv/deep\n",
		map[string]string{"a": "web1\n"}), nil, executor.Options{}, nil); err != nil {
		if !strings.Contains(err.Error(), "too long") || depth(m, name) != before {
			m.t.Errorf("%v, and %d directories are left of %d", err, depth(m, name), before)
		}
		return
	}
	m.rollback(0)
	if is := depth(m, name); is != before {
		m.t.Errorf("%d directories came back of %d", is, before)
	}
}

// depth counts the directories of trapDeep.
func depth(m *machine, name string) int {
	fd, err := unix.Open(m.at("/srv/deep"), unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return -1
	}
	for n := 0; ; n++ {
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
		unix.Close(fd)
		if err != nil {
			return n
		}
		fd = next
	}
}
