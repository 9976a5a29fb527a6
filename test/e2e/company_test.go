package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// lab is one more host of the company, for a container without a network and with
// a kernel that is not its own: no settings of the kernel, no audit, no clock, and
// few of the tools.
const lab = `
role "lab" {
  roles   = ["web"]
  modules = ["names", "accounts", "sudo", "ssh", "firewall", "logging"MORE]
  vars = {
    clock = false
    tools = ["curl", "jq", "rsync"]
    teams = ["ops", "dba"]
  }
}
target "lab1.example.org" {
  roles  = ["lab"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.99" }
}
`

// more are the modules of a lab for which many packages have to come.
const more = `, "base", "trust", "time", "mail", "backup", "metrics"`

// full tells whether the long form runs.
func full() bool { return os.Getenv("FETTLE_LONG") != "" }

// leftOut are the package sources of the company, which a host without a network
// does not reach, and the settings of a tool that the lab has not.
var leftOut = regexp.MustCompile(
	`(?s)\n(file "/etc/apt/sources.list"|file "/etc/vim/vimrc.local"|apt_source "[a-z-]+") \{\n.*?\n\}`)

// company copies the example to the host, with the lab in it.
func (m *machine) company() {
	m.t.Helper()
	dir := filepath.Join(m.t.TempDir(), "company")
	if err := os.CopyFS(dir, os.DirFS("../../examples/company")); err != nil {
		m.t.Fatal(err)
	}
	rewrite := func(name string, f func(string) string) {
		m.t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			m.t.Fatal(err)
		}
		next := f(string(text))
		if next == string(text) {
			m.t.Fatalf("%s is not what the test changes", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(next), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	rewrite("fettle.hcl", func(text string) string {
		modules := ""
		if full() {
			modules = more
		}
		return strings.Replace(text, `targets = ["*"]`, `targets = ["*.example.net"]`, 1) + strings.Replace(lab, "MORE",
			modules, 1)
	})
	rewrite("modules/base/module.hcl", func(text string) string { return leftOut.ReplaceAllString(text, "") })
	tar := dir + ".tar"
	if out, err := exec.Command("tar", "-C", dir, "-cf", tar, ".").CombinedOutput(); err != nil {
		m.t.Fatalf("tar: %v\n%s", err, out)
	}
	m.Copy(m.t, tar, "/root/company.tar")
	m.Run(m.t, "mkdir", "-p", repository)
	m.Run(m.t, "tar", "-C", repository, "--no-same-owner", "-xf", "/root/company.tar")
}

// TestCompanyOnAHost: a web server of the company as one run makes it of a plain
// Debian; a second run finds nothing to do, and the way back leads to the plain
// Debian. An ordinary user can look at all of it and change nothing.
func TestCompanyOnAHost(t *testing.T) {
	sample.Group(t, 5)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "lab1", repo)
	m.Run(t, "useradd", "-m", "dev")
	m.company()
	before := m.Snapshot(t)

	m.fettle(success, "apply", "-t", "lab1.example.org", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan", "-t", "lab1.example.org")
	m.fettle(success, "drift")
	m.isLab()
	applied := m.Snapshot(t)
	m.fettle(success, "apply", "-t", "lab1.example.org", "--yes", "--confirm-within", "0s")
	for _, line := range hosts.CompareTimes(applied, m.Snapshot(t),
		append(remains(), "/var/log/auth.log", "/var/log/nginx/access.log", "/var/log/syslog")) {
		t.Errorf("the second run changed: %s", line)
	}
	m.byAnOrdinaryUser()
	m.inputs()
	m.fettle(success, "rollback", "origin", "--yes")
	m.purgeRemoved()
	for _, line := range hosts.Compare(before, m.Snapshot(t), append(remains(), ofPackages()...)) {
		t.Errorf("after rollback: %s", line)
	}
}

// ofPackages is what the scripts of the company's packages leave when they are
// purged, by Debian's rules: accounts of services, hashes of ucf, logs and queues; and
// what the user dev wrote.
func ofPackages() []string {
	out := []string{"/home/dev/**", "unit network-pre.target", "/var/lib/ucf/**", "/var/log/auth.log", "/var/log/syslog",
		"/var/log/cron.log", "/var/spool/rsyslog/**"}
	if !full() {
		return out
	}
	for _, account := range []string{"prometheus", "systemd-timesync", "ssl-cert"} {
		out = append(out, "passwd "+account, "shadow "+account, "group "+account, "gshadow "+account)
	}
	return append(out, "/etc/passwd", "/etc/shadow", "unit time-set.target")
}

// inputs has an ordinary user ask and generate what root applies then, in a
// repository of its own, and takes that back.
func (m *machine) inputs() {
	m.t.Helper()
	files := map[string]string{"data/names": "ann\nbob\n", "fettle.hcl": `
lookup "release" {
  command = ["cat", "/etc/debian_version"]
  format  = "text"
}
generator "names" {
  command = ["./gen/names"]
  inputs  = ["gen/names", "data/names"]
}
directory "/srv/names" {}
file "/srv/release" {
  content = "${trimspace(lookup.release)}\n"
}
`}
	for name, text := range files {
		m.WriteFile(m.t, "/home/dev/repo/"+name, text, 0o644)
	}
	m.WriteFile(m.t, "/home/dev/repo/gen/names",
		"#!/bin/sh\nwhile read -r n; do echo \"MKDIR /srv/names/$n\"; done <data/names\n", 0o755)
	m.Run(m.t, "chown", "-R", "dev:", "/home/dev/repo")
	m.as(failed, "compile") // nobody has asked yet
	m.as(success, "lookup", "refresh", "--yes")
	m.as(success, "generate")
	m.as(success, "generate", "--check")
	m.says(m.as(success, "compile", "--no-sources"), "MKDIR /srv/names/ann", "MKDIR /srv/names/bob")
	m.Run(m.t, "runuser", "-u", "dev", "--", "mkdir", "-p", "/home/dev/root/srv")
	m.says(m.as(changes, "plan", "--root", "/home/dev/root", "--state", "/home/dev/state"), "/srv/names/ann")

	m.Run(m.t, "mv", "/home/dev/repo", "/root/inputs")
	m.Run(m.t, "chown", "-R", "root:", "/root/inputs")
	state := []string{"-C", "/root/inputs", "--state", "/root/inputs-state"}
	m.fettle(success, append([]string{"apply", "--yes"}, state...)...)
	m.want(strings.TrimSpace(m.ReadFile(m.t, "/etc/debian_version")), "cat", "/srv/release")
	m.want("ann\nbob", "ls", "/srv/names")
	m.fettle(success, append([]string{"rollback", "origin", "--yes"}, state...)...)
	if m.has("/srv/names") || m.has("/srv/release") {
		m.t.Error("what was generated and looked up is still there")
	}
}

// isLab asks the host whether it is what the company wants.
func (m *machine) isLab() {
	m.t.Helper()
	asked := []struct{ want, command string }{
		{"active", "systemctl is-active nginx"},
		{"active", "systemctl is-active nftables"},
		{"active", "systemctl is-active rsyslog"},
		{"1", "nft list ruleset | grep -c 'dport 9100'"},
		{"2001", "id -u alice"},
		{"alice bob carla dmitri jonas", "getent passwd | cut -d: -f1,3 | grep :20 | cut -d: -f1 | sort | xargs"},
		{"permitrootlogin no", "sshd -T | grep permitrootlogin"},
		{"10.1.1.99", "getent hosts lab1.example.org | cut -d' ' -f1"},
	}
	if full() {
		asked = append(asked, []struct{ want, command string }{
			{"lab1.example.org", "hostname"},
			{"Europe/Berlin", "cat /etc/timezone"},
			{"active", "systemctl is-active prometheus-node-exporter"},
			{"enabled", "systemctl is-enabled backup.timer"},
		}...)
	}
	for _, q := range asked {
		m.want(q.want, "sh", "-c", q.command)
	}
	m.Run(m.t, "nginx", "-t")
}

// as runs fettle as the user dev in a copy of the repository.
func (m *machine) as(code int, args ...string) output {
	m.t.Helper()
	r := m.Exec(append([]string{"runuser", "-u", "dev", "--", "env", "-C", "/home/dev/repo", "HOME=/home/dev", "fettle"},
		args...)...)
	m.t.Logf("dev$ fettle %s  => %d\n%s%s", strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	if r.ExitCode != code {
		m.t.Errorf("dev: fettle %s: exit code %d, want %d", strings.Join(args, " "), r.ExitCode, code)
	}
	return output{r.Stdout, r.Stderr}
}

// byAnOrdinaryUser compiles all of the company, and compares this host.
func (m *machine) byAnOrdinaryUser() {
	m.t.Helper()
	m.Run(m.t, "cp", "-r", repository, "/home/dev/repo")
	m.Run(m.t, "chown", "-R", "dev:", "/home/dev/repo")
	mine := m.as(success, "compile", "--no-sources", "-t", "lab1.example.org").out
	if roots := m.fettle(success, "compile", "--no-sources", "-t", "lab1.example.org").out; mine != roots {
		m.t.Error("an ordinary user compiles another list than root")
	}
	m.as(success, "validate")
	m.as(success, "test")
	m.says(m.as(failed, "plan", "-t", "lab1.example.org"), "sudo fettle") // what is applied is root's business
	m.says(m.as(failed, "apply", "-t", "lab1.example.org", "--yes"), "sudo fettle")
	m.Run(m.t, "rm", "-r", "/home/dev/repo")
}
