package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sudoPassword is ann's on the host.
const sudoPassword = "correct-horse-5b1f"

// sudoOverSSH: an ordinary account becomes root by sudo, with a password or without,
// and the password is nowhere to be seen.
func sudoOverSSH(d *desk, m *machine) {
	m.Run(d.t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"sudo")
	m.Run(d.t, "useradd", "-m", "-s", "/bin/sh", "ann")
	m.welcomes(d, "ann")
	r := m.ExecInput(strings.NewReader("ann:"+sudoPassword+"\n"), "chpasswd")
	if r.ExitCode != 0 {
		d.t.Fatal(r.Stderr)
	}
	was := d.get(".ssh/config")
	defer func() { d.hangUp(); d.put(".ssh/config", was, 0o600) }()
	d.put(".ssh/config", "", 0o600)
	d.knows(m, "ann")
	d.put("password", sudoPassword+"\nnot this line\n", 0o600)
	d.put("wrong", "incorrect\n", 0o600)
	d.targets("ssh { sudo = true }", "file \"/etc/story\" { content = \"hello\\n\" }\n")
	notASudoer(d, m)
	sudoWithPassword(d, m)
	sudoWithout(d, m)
}

func notASudoer(d *desk, m *machine) {
	d.says(d.fettle(failed, "plan", "-t", "web1"), "sudo there asks for a password", "--ask-sudo-password")
	d.says(d.fettle(failed, "plan", "-t", "web1", "--sudo-password-file", d.at("password")),
		"the account may not use sudo there")
	if m.has("/var/lib/fettle") {
		d.t.Error("something was made all the same")
	}
}

func sudoWithPassword(d *desk, m *machine) {
	for _, pty := range []string{"use_pty", "!use_pty"} {
		m.WriteFile(d.t, "/etc/sudoers.d/ann", "Defaults "+pty+"\nann ALL=(ALL) ALL\n", 0o440)
		d.says(d.fettle(failed, "plan", "-t", "web1"), "sudo there asks for a password", "--ask-sudo-password")
		d.says(d.fettle(failed, "plan", "-t", "web1", "--ask-sudo-password"), "there is no terminal",
			"--sudo-password-file FILE")
		d.says(d.fettle(failed, "plan", "-t", "web1", "--sudo-password-file", d.at("wrong")),
			"sudo there rejected the password")

		m.Run(d.t, "rm", "-f", "/run/waits", "/run/go")
		d.targets("ssh { sudo = true }", waitStep)
		p := d.begin("apply", "--yes", "-t", "web1", "--sudo-password-file", d.at("password"))
		m.awaitMiddle(p)
		commandLinesLack(d.t, sudoPassword)
		m.goOn()
		if d.end(p) != success {
			d.t.Fatal("the apply failed")
		}
		m.want("root", "stat", "-c", "%U", "/etc/story/after")
		d.says(d.fettle(success, "log", "-t", "web1", "--sudo-password-file", d.at("password")), "succeeded")
		d.fettle(success, "rollback", "origin", "--yes", "-t", "web1", "--sudo-password-file", d.at("password"))
	}
	if found := m.holds(sudoPassword); len(found) > 0 {
		d.t.Errorf("the password is in %v", found)
	}
	if strings.Contains(m.Run(d.t, "journalctl", "-q", "--no-pager"), sudoPassword) {
		d.t.Error("the password is in the journal of the host")
	}
}

// sudoWithout: no password is needed, and one that is given all the same goes nowhere.
func sudoWithout(d *desk, m *machine) {
	for _, pty := range []string{"use_pty", "!use_pty"} {
		m.WriteFile(d.t, "/etc/sudoers.d/ann", "Defaults "+pty+"\nann ALL=(ALL) NOPASSWD: ALL\n", 0o440)
		d.targets("ssh { sudo = true }", "file \"/etc/story\" { content = \"hello\\n\" }\n")
		d.fettle(success, "apply", "--yes", "-t", "web1")
		d.fettle(success, "apply", "--yes", "-t", "web1", "--sudo-password-file", d.at("password"))
		m.want("root", "stat", "-c", "%U", "/etc/story")
		m.want("root", "sh", "-c", "stat -c %U /root/.cache/fettle/fettle-*")
		if m.has("/home/ann/.cache/fettle") {
			d.t.Error("the program that root runs is where ann can replace it")
		}
		d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
	}
	sudoWithoutHome(d, m)
	d.targets("ssh {}", "file \"/etc/story\" { content = \"hello\\n\" }\n")
	d.says(d.fettle(failed, "apply", "--yes", "-t", "web1"), "permission denied", "--sudo")
}

// sudoWithoutHome: where root may run nothing from its home the program goes to a directory
// that only root can write to, whatever somebody else has put in its place.
func sudoWithoutHome(d *desk, m *machine) {
	m.Run(d.t, "mkdir", "-p", "/root/.cache")
	m.Run(d.t, "mount", "-t", "tmpfs", "-o", "noexec,mode=0700", "small", "/root/.cache")
	dir := "/var/cache/fettle"
	d.fettle(success, "apply", "--yes", "-t", "web1")
	m.want("700 root", "sh", "-c", "stat -c '%a %U' "+dir+" "+dir+"/fettle-* | sort -u")
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
	d.fettle(success, "target", "delete-binary", "-t", "web1")

	m.Run(d.t, "install", "-d", "-o", "nobody", "-m", "0777", dir)
	m.WriteFile(d.t, dir+"/fettle-mine", "somebody else's\n", 0o666)
	sum, _, _ := strings.Cut(d.must("sha256sum", d.bin), " ")
	m.Run(d.t, "ln", "-s", "/bin/false", dir+"/fettle-"+sum)
	d.fettle(changes, "plan", "-t", "web1")
	m.want("700 root", "sh", "-c", "stat -c '%a %U' /var/tmp/fettle-0 /var/tmp/fettle-0/fettle-* | sort -u")
	d.fettle(success, "target", "delete-binary", "-t", "web1")
	if m.has("/var/tmp/fettle-0") {
		d.t.Error("the program is not forgotten")
	}
	m.want("somebody else's", "cat", dir+"/fettle-mine")
	m.Run(d.t, "rm", "-r", dir)
	m.Run(d.t, "umount", "/root/.cache")
}

// awaitMiddle waits until a run is held up.
func (m *machine) awaitMiddle(p *process) {
	m.t.Helper()
	m.await("the middle of the run", func() bool {
		if p.over() {
			m.t.Fatalf("the run was over too early:\n%s", p.out)
		}
		return m.has("/run/waits")
	})
}

// commandLinesLack looks at every process of the world, and so of its hosts.
func commandLinesLack(t *testing.T, text string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) < 5 {
		t.Fatalf("%v %v", lines, err)
	}
	for _, name := range lines {
		for _, of := range []string{name, filepath.Join(filepath.Dir(name), "environ")} {
			if b, err := os.ReadFile(of); err == nil && strings.Contains(string(b), text) {
				t.Errorf("%s holds it: %q", of, b)
			}
		}
	}
}
