package hostile

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/test/needs"
)

// trap is a machine's root, a repository, and around them what an attack would
// leave its marks on: a home, a directory of somebody else, and programs that
// write down that they were called.
type trap struct {
	t                         testing.TB
	dir                       string
	root, repo, home, outside string
	ran                       string // the log of the programs
	trace                     bool   // strace is there
}

// tempting are the programs that git, a hook or a shell would look for.
func tempting() []string {
	return []string{"sh", "bash", "ssh", "less", "vi", "editor", "gpg", "git-lfs", "git-remote-ext", "git-remote-https",
		"git-upload-pack", "useradd", "systemctl", "apt-get"}
}

func newTrap(t testing.TB) *trap {
	t.Helper()
	dir := t.TempDir()
	tr := &trap{t: t, dir: dir, root: dir + "/root", repo: dir + "/repo", home: dir + "/home", outside: dir + "/outside",
		ran: dir + "/ran"}
	for _, name := range append(tempting(), "evil") {
		write(t, dir+"/path/"+name, tr.script(name), 0o755)
	}
	git := needs.Program(t, "git")
	must(t, os.Symlink(git, dir+"/path/git"))
	_, err := exec.LookPath("strace")
	tr.trace = err == nil
	write(t, tr.home+"/.gitconfig", "[core]\n\tpager = "+tr.evil("pager")+"\n\thooksPath = "+dir+"/path\n\tfsmonitor = "+
		tr.evil("fsmonitor")+"\n[alias]\n\tls-files = !"+tr.evil("alias")+"\n", 0o644)
	write(t, tr.home+"/.ssh/authorized_keys", "", 0o600)
	write(t, tr.home+"/.config/git/attributes", "* filter=evil\n", 0o644)
	write(t, tr.outside+"/secret", "secret\n", 0o600)
	write(t, tr.outside+"/files/x", "from outside\n", 0o644)
	write(t, tr.outside+"/fettle.hcl", "target \"outside\" {}\n", 0o644)
	write(t, tr.root+"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0o644)
	write(t, tr.root+"/etc/group", "root:x:0:\n", 0o644)
	return tr
}

// script writes down that it ran, with nothing but itself.
func (tr *trap) script(name string) string {
	return "#!/bin/sh\necho \"" + name + " $*\" >> " + tr.ran + "\nexit 1\n"
}

// evil is a command line for a configuration, which leaves a mark when it runs.
func (tr *trap) evil(why string) string { return tr.dir + "/path/evil " + why }

func (tr *trap) env() []string {
	return []string{"PATH=" + tr.dir + "/path", "HOME=" + tr.home, "USER=mallory", "LANG=C.UTF-8", "NO_COLOR=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.pager", "GIT_CONFIG_VALUE_0=" + tr.evil("env"),
		"GIT_SSH_COMMAND=" + tr.evil("GIT_SSH_COMMAND"), "GIT_EXTERNAL_DIFF=" + tr.evil("GIT_EXTERNAL_DIFF"),
		"PAGER=" + tr.evil("PAGER"), "EDITOR=" + tr.evil("EDITOR"),
		"GIT_TRACE=" + tr.outside + "/trace", "GIT_TRACE2_EVENT=" + tr.outside + "/trace2",
		"GIT_OBJECT_DIRECTORY=" + tr.outside, "GIT_DIR=" + tr.outside}
}

// fettle runs the real program on the trap's root and repository, and tells
// what it did that it may not do.
func (tr *trap) fettle(args ...string) ended {
	tr.t.Helper()
	argv := append([]string{fettle(tr.t)}, args...)
	argv = append(argv, "-C", tr.repo, "--root", tr.root, "--compile-timeout", "5s")
	log := tr.dir + "/strace"
	if tr.trace {
		strace, err := exec.LookPath("strace")
		must(tr.t, err)
		argv = append([]string{strace, "-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-o", log, "-e", "signal=none",
			"-e", "trace=" + mutations}, argv...)
	}
	e := command(tr.t, tr.env(), tr.dir, argv...)
	if b, err := os.ReadFile(tr.ran); err == nil {
		e.strange = append(e.strange, "ran: "+string(b))
	}
	if tr.trace {
		b, err := os.ReadFile(log)
		must(tr.t, err)
		e.strange = append(e.strange, tr.audit(string(b))...)
	}
	return e
}

// mutations are the system calls that start programs or change files.
const mutations = "execve,execveat,openat,openat2,open,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,symlink,symlinkat,link,linkat,mknod,mknodat,chmod,fchmodat,chown,lchown,fchownat,truncate,setxattr,lsetxattr,removexattr,lremovexattr,mount,utimensat"

var (
	callForm = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (-?\d+)`)
	atForm   = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
)

// audit finds programs other than fettle and git, and writes anywhere but below
// the root, in what strace wrote.
func (tr *trap) audit(log string) (strange []string) {
	for line := range strings.Lines(log) {
		m := callForm.FindStringSubmatch(line)
		if m == nil || m[3] == "-1" {
			continue
		}
		call, args := m[1], m[2]
		if strings.HasPrefix(call, "execve") {
			prog := atForm.FindStringSubmatch(args)
			if base := filepath.Base(prog[2]); base != "git" && base != "fettle" && prog[2] != "/proc/self/exe" {
				strange = append(strange, strings.TrimSpace(line))
			}
			continue
		}
		if strings.HasPrefix(call, "open") && !regexp.MustCompile(`O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`).MatchString(args) {
			continue
		}
		for _, at := range atForm.FindAllStringSubmatch(args, -1) {
			if p := absolute(at[1], at[2]); !tr.mayWrite(p) {
				strange = append(strange, strings.TrimSpace(line))
			}
		}
	}
	return strange
}

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

func (tr *trap) mayWrite(p string) bool {
	return strings.HasPrefix(p, tr.root+"/") || p == "/dev/null" || strings.HasPrefix(p, "/proc/self/") ||
		strings.HasPrefix(p, "/sys/fs/cgroup")
}

// picture is everything of the trap but the root and what the test itself
// writes, one line a path.
func (tr *trap) picture(dirs ...string) map[string]string {
	tr.t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			out[p] = leaf(p)
			if os.IsPermission(err) || os.IsNotExist(err) {
				return nil
			}
			return err
		})
		must(tr.t, err)
	}
	return out
}

// leaf is what stands at a path: type, owner, mode, time, content.
func leaf(p string) string {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return err.Error()
	}
	line := fmt.Sprintf("%o %d:%d %d.%d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Size > 1<<22 {
			return line + fmt.Sprint(" ", st.Size)
		}
		b, err := os.ReadFile(p)
		return line + fmt.Sprintf(" %d %x %v", st.Size, sha256.Sum256(b), err)
	case unix.S_IFLNK:
		to, err := os.Readlink(p)
		return line + fmt.Sprintf(" -> %q %v", to, err)
	}
	return line
}

// changed tells what differs between two pictures.
func changed(a, b map[string]string) (out []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if a[p] != b[p] {
			out = append(out, fmt.Sprintf("%s was %q, is %q", p, a[p], b[p]))
		}
	}
	return out
}
