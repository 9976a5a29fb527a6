package e2e

import (
	"debug/elf"
	"os"
	"runtime"
	"strings"
)

// littleRoom: a home that is full is told as that, and nothing is left half done.
func littleRoom(d *desk, m *machine) {
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	m.Run(d.t, "mkdir", "-p", "/root/.cache")
	m.Run(d.t, "mount", "-t", "tmpfs", "-o", "size=2M", "small", "/root/.cache")
	d.says(d.fettle(failed, "apply", "--yes", "-t", "web1"), "the fettle binary does not fit into /root/.cache/fettle",
		"Free space there")
	if got := m.programs("/root"); len(got) > 0 {
		d.t.Errorf("it leaves %v", got)
	}
	m.Run(d.t, "umount", "/root/.cache")
	if m.has("/etc/hello") || m.has("/var/lib/fettle") {
		d.t.Error("something was done all the same")
	}
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`+"\n"+`file "/etc/big" { source = "big" }`)
	d.put("repo/big", random(8<<20), 0o644)
	m.Run(d.t, "mkdir", "-p", "/var/lib/fettle")
	m.Run(d.t, "mount", "-t", "tmpfs", "-o", "size=4M", "small", "/var/lib/fettle")
	o := d.fettle(failed, "apply", "--yes", "-t", "web1")
	d.says(o, "no space left on device")
	if m.has("/etc/hello") || m.has("/etc/big") {
		d.t.Error("it is half applied")
	}
	d.says(d.fettle(success, "status", "-t", "web1"), "nothing yet")
	m.Run(d.t, "umount", "/var/lib/fettle")
	d.fettle(success, "apply", "--yes", "-t", "web1")
}

// noProgramsAtHome: from a home that is read-only or noexec the program goes to another
// directory of the account's own, and where there is none it is told what was tried.
func noProgramsAtHome(d *desk, m *machine) {
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	m.Run(d.t, "rm", "-rf", "/root/.cache")
	m.Run(d.t, "mkdir", "-p", "/root/.cache", "/run/user")
	for _, options := range []string{"ro", "noexec"} {
		m.Run(d.t, "mount", "-t", "tmpfs", "-o", options, "small", "/root/.cache")
		d.fettle(changes, "plan", "-t", "web1")
		m.want("700 root", "sh", "-c", "stat -c '%a %U' /var/cache/fettle/fettle-* /var/cache/fettle | sort -u")
		came := m.Run(d.t, "sh", "-c", "stat -c '%i %Z' /var/cache/fettle/fettle-*")
		d.fettle(success, "apply", "--yes", "-t", "web1")
		m.want(strings.TrimSpace(came), "sh", "-c", "stat -c '%i %Z' /var/cache/fettle/fettle-*")
		d.fettle(success, "rollback", "--yes", "-t", "web1")
		d.fettle(success, "target", "delete-binary", "-t", "web1")
		if m.has("/var/cache/fettle") || len(m.programs("/root")) > 0 {
			d.t.Error("the program is not forgotten")
		}
		m.Run(d.t, "umount", "/root/.cache")
	}
	places := []string{"/root/.cache", "/var/cache", "/var/tmp", "/run/user"}
	for _, p := range places {
		m.Run(d.t, "mount", "-t", "tmpfs", "-o", "noexec", "small", p)
	}
	o := d.fettle(failed, "plan", "-t", "web1")
	d.says(o, "no directory there can store the fettle binary: /root/.cache/fettle is mounted noexec; /var/cache/fettle is mounted noexec; /var/tmp/fettle-0 is mounted noexec; /run/user/0/fettle ")
	d.says(o, "XDG_CACHE_HOME")
	for _, p := range places {
		m.want("", "sh", "-c", "find "+p+" -type f")
		m.Run(d.t, "umount", p)
	}
}

// shells: it does not matter which shell people log in with, unless it is one that
// lets them do nothing.
func shells(d *desk, m *machine) {
	m.Run(d.t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"fish", "csh", "tcsh")
	d.targets("ssh {}", `file "/etc/hello" { content = "it's hello\n" }`)
	m.WriteFile(d.t, "/root/.cshrc", "echo Welcome to a C shell; printf 'no line break'\n", 0o644)
	m.WriteFile(d.t, "/root/.config/fish/config.fish", "echo Welcome to fish; printf 'no line break'\n", 0o644)
	for _, shell := range []string{"/usr/bin/fish", "/bin/bsd-csh", "/bin/tcsh"} {
		d.hangUp()
		m.Run(d.t, "usermod", "-s", shell, "root")
		m.Run(d.t, "rm", "-rf", "/root/.cache")
		for range 2 { // the program comes, and is there
			d.saysNot(d.fettle(changes, "plan", "-t", "web1"), "Welcome")
		}
		m.theProgram(d)
		d.t.Logf("%s does no harm", shell)
	}
	d.hangUp()
	m.Run(d.t, "usermod", "-s", "/bin/rbash", "root")
	d.says(d.fettle(failed, "plan", "-t", "web1"), "the login shell of the account there is a restricted one", "chsh")
	d.hangUp()
	m.Run(d.t, "usermod", "-s", "/bin/bash", "root")
	m.Run(d.t, "rm", "-r", "/root/.cshrc", "/root/.config/fish")
}

// otherProcessor: a machine for which there is no program is told so, and one for
// which there is gets that one.
func otherProcessor(d *desk, m *machine) {
	m.Run(d.t, "rm", "-rf", "/root/.cache")
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	m.WriteFile(d.t, "/usr/local/bin/uname", "#!/bin/sh\n/usr/bin/uname \"$@\" | sed 's/x86_64/aarch64/'\n", 0o755)
	m.WriteFile(d.t, "/run/arch", "aarch64\n", 0o644)
	m.Run(d.t, "mount", "--bind", "/run/arch", "/proc/sys/kernel/arch")
	defer m.Run(d.t, "umount", "/proc/sys/kernel/arch")
	defer m.Run(d.t, "rm", "/usr/local/bin/uname", "/run/arch")
	d.says(d.fettle(failed, "plan", "-t", "web1"), "there is no fettle binary for it: it is Linux aarch64",
		"make programs")
	if m.has("/root/.cache/fettle") {
		d.t.Error("something was made all the same")
	}
	if os.Getenv("FETTLE_LONG") == "" {
		return
	}
	d.build("amd64", "arm64")
	defer d.build(runtime.GOARCH)
	d.says(d.fettle(failed, "plan", "-t", "web1"), "the fettle binary does not run there")
	got := m.programs("/root")
	if len(got) != 1 {
		d.t.Fatalf("the cache has %v, want the program for arm64", got)
	}
	f, err := elf.NewFile(strings.NewReader(m.ReadFile(d.t, "/root/.cache/fettle/"+got[0])))
	if err != nil || f.Machine != elf.EM_AARCH64 {
		d.t.Errorf("what came is no program for arm64: %v %v", f, err)
	}
}

// noise: what login scripts print does no harm, and what is no shell is told as such.
func noise(d *desk, m *machine) {
	rc := m.ReadFile(d.t, "/root/.bashrc")
	keys := m.ReadFile(d.t, "/root/.ssh/authorized_keys")
	m.WriteFile(d.t, "/root/.bashrc",
		"echo Welcome to web1; printf 'fettle-wire 1 is not it\\nno line break'; echo mind the gap >&2\n", 0o644)
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	d.saysNot(d.fettle(changes, "plan", "-t", "web1"), "Welcome", "mind the gap")
	m.WriteFile(d.t, "/root/.bashrc", rc, 0o644)

	d.hangUp()
	m.WriteFile(d.t, "/root/.ssh/authorized_keys", "command=\"echo only backups here\" "+keys, 0o600)
	d.says(d.fettle(failed, "plan", "-t", "web1"), "a program other than fettle answered: only backups here",
		"forced command")
	m.WriteFile(d.t, "/root/.ssh/authorized_keys", keys, 0o600)
	d.hangUp()
	m.Run(d.t, "usermod", "-s", "/usr/sbin/nologin", "root")
	d.says(d.fettle(failed, "plan", "-t", "web1"),
		"a program other than fettle answered: This account is currently not available",
		"the login shell")
	m.Run(d.t, "usermod", "-s", "/bin/bash", "root")
}

// lockedOutOverSSH: a run after which nobody gets in is not confirmed, and goes back;
// one after which somebody does is confirmed by that.
func lockedOutOverSSH(d *desk, m *machine) {
	a := &ann{machine: m}
	before := a.settings()
	policy := "policy { confirm_within = \"4s\" }\n"
	d.targets("ssh {}", policy+`sshd_config "10-lock" { settings = { AllowUsers = "nobody" } }`)
	d.says(d.fettle(rolledBack, "apply", "--yes", "-t", "web1"), "This may lock you out",
		"no new connection reached web1 in time")
	d.hangUp()
	m.await("the way back", func() bool { return d.command(d.bin, "status", "-t", "web1").Run() == nil })
	m.await("the end of the run that takes it back", func() bool {
		return m.Exec("systemctl", "list-units", "-q", "--no-legend", "fettle-watch-*").Stdout == ""
	})
	if after := a.settings(); after != before {
		d.t.Errorf("not all is as it was before:\n%s", differing(before, after))
	}
	d.says(d.fettle(success, "log", "-t", "web1"), "not confirmed in time")

	d.targets("ssh {}", policy+`sshd_config "10-tries" { settings = { MaxAuthTries = "5" } }`)
	d.says(d.fettle(success, "apply", "--yes", "-t", "web1"), "A new connection reached web1", "stays")
	a.stays("/etc/ssh/sshd_config.d/10-tries.conf")
	d.fettle(success, "rollback", "--yes", "-t", "web1")
}

// throughBastion: a host that is reached through another one, as ssh_config says and
// as the repository says.
func throughBastion(d *desk, m, jump *machine) {
	jump.welcomes(d, "root")
	d.knows(jump, "root")
	was := d.get(".ssh/config")
	d.put(".ssh/config", strings.Replace(was, "HostName "+m.Addr+"\n", "HostName "+m.Addr+"\n  ProxyJump jump\n", 1),
		0o600)
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	d.fettle(success, "apply", "--yes", "-t", "web1")
	d.says(d.fettle(success, "show", "1", "-t", "web1"), "ssh "+jump.Addr+")")
	d.fettle(success, "rollback", "--yes", "-t", "web1")
	d.hangUp()

	d.put(".ssh/config", was, 0o600)
	d.targets(`ssh { options = { ProxyJump = "jump" } }`, `file "/etc/hello" { content = "hello\n" }`)
	d.fettle(success, "apply", "--yes", "-t", "web1")
	d.says(d.fettle(success, "show", "3", "-t", "web1"), "ssh "+jump.Addr+")")
}

const planted = "swordfish-over-ssh-41d9aa"

// secretsOverSSH: the desk alone can open a secret, and hands it over to a host that
// had no identity. Later the host goes back and forth without the desk.
func secretsOverSSH(d *desk, m *machine) {
	d.targets("ssh {}", "")
	_ = os.RemoveAll(d.at("repo/.git"))
	d.must("git", "init", "-q", "-b", "main")
	d.fettle(success, "secret", "init")
	d.put("plain", planted+"\n", 0o600)
	d.must("sh", "-c", "fettle secret set db/password < $HOME/plain")
	d.put("repo/fettle.hcl",
		"target \"web1\" {\n  ssh {}\n}\nfile \"/etc/hello\" { secret = \"db/password\" }\nfile \"/etc/story\" { content = \"one\\n\" }\n",
		0o644)
	d.must("git", "add", "-A")
	d.must("git", "commit", "-q", "-m", "Secret")
	if m.has("/etc/fettle/identity") {
		d.t.Fatal("the host has an identity to begin with")
	}
	d.saysNot(d.fettle(success, "apply", "--yes", "-v", "-t", "web1"), planted)
	m.want(planted, "cat", "/etc/hello")
	m.want("600 root", "stat", "-c", "%a %U", "/etc/fettle/identity")
	d.says(d.fettle(success, "apply", "--yes", "-t", "web1"), "No changes were necessary")

	d.put("repo/fettle.hcl", "target \"web1\" {\n  ssh {}\n}\nfile \"/etc/story\" { content = \"two\\n\" }\n", 0o644)
	d.must("git", "commit", "-q", "-a", "-m", "Without")
	d.fettle(success, "apply", "--yes", "-t", "web1")
	if got := m.holds(planted); len(got) > 0 {
		d.t.Errorf("a secret that is used no more is in %v", got)
	}
	m.Run(d.t, m.theProgram(d), "rollback", "--yes") // by itself
	m.want(planted, "cat", "/etc/hello")
	if got := strings.Join(m.holds(planted), " "); got != "/etc/hello" {
		d.t.Errorf("the secret is in %s", got)
	}
	for _, secret := range []string{planted, "AGE-SECRET-KEY"} {
		if strings.Contains(m.Run(d.t, "journalctl", "-q", "--no-pager"), secret) ||
			strings.Contains(m.Run(d.t, "sh", "-c", "cat /run/fettle/* 2>/dev/null || true"), secret) {
			d.t.Errorf("%s is in the journal of the host", secret)
		}
	}
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
	m.Run(d.t, "rm", "-r", "/etc/fettle")
	_ = os.RemoveAll(d.at("repo/.git"))
}
