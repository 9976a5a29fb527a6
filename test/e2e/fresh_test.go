package e2e

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/kind/stdlib"
	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// alone has, for each kind of the standard library, a state of it that stands alone
// in its repository.
func alone() map[string]string {
	return map[string]string{
		"sudoers":             `sudoers "x" { rules = ["www-data ALL=(root) NOPASSWD: /usr/bin/id"] }`,
		"sshd_config":         `sshd_config "x" { settings = { MaxAuthTries = "3" } }`,
		"known_host":          `known_host "git.example.org" { key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+" }`,
		"limits":              "limits \"x\" {\n  domain = \"www-data\"\n  hard   = { nofile = 777 }\n}",
		"acl":                 `acl "/srv" { entries = ["u:backup:rx"] }`,
		"authorized_key":      `authorized_key "root" { key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+ x" }`,
		"sysusers":            `sysusers "x" { lines = ["g kindshop -"] }`,
		"apt_source":          "apt_source \"x\" {\n  uris    = [\"file:/root/flat\"]\n  suites  = [\"./\"]\n  trusted = true\n}",
		"unit_override":       "unit_override \"x\" {\n  unit    = \"systemd-journald.service\"\n  content = \"[Service]\\nNice=1\\n\"\n}",
		"download":            "download \"/root/got\" {\n  url    = \"file:///root/flat/Packages\"\n  sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n}",
		"archive":             "archive \"/opt/font\" {\n  archive = \"/root/font.zip\"\n  strip   = 1\n}",
		"git_checkout":        "git_checkout \"/srv/shop\" {\n  url      = \"file:///root/shop.git\"\n  revision = \"v1\"\n}",
		"resolver":            "resolver \"x\" {\n  resolved = true\n  servers  = [\"192.0.2.53\"]\n}",
		"network":             "network \"10-x\" {\n  interface = \"none0\"\n  dhcp      = true\n}",
		"host_entry":          `host_entry "db1" { ip = "10.0.0.1" }`,
		"hostname":            `hostname "renamed" {}`,
		"timezone":            `timezone "Etc/UTC" {}`,
		"apt_pin":             "apt_pin \"x\" {\n  pin      = \"release *\"\n  priority = 500\n}",
		"apt_key":             `apt_key "x" { key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n" }`,
		"debconf":             "debconf \"kinds/answer\" {\n  package  = \"base-files\"\n  value    = \"a\"\n  previous = \"b\"\n}",
		"unattended_upgrades": `unattended_upgrades "x" { package = false }`, // the tests have no source of the package
		"pam_profile":         `pam_profile "slow" { auth = ["optional pam_faildelay.so delay=100"] }`,
		"cron":                "cron \"x\" {\n  schedule = \"@hourly\"\n  command  = \"true\"\n}",
		"timer":               "timer \"x\" {\n  every   = \"15min\"\n  command = \"/usr/bin/true\"\n}",
		"credential":          "credential \"x\" {\n  unit    = \"systemd-journald.service\"\n  content = secret(\"x\")\n}",
		"journald":            `journald "x" { settings = { RuntimeMaxUse = "16M" } }`,
		"ntp":                 "ntp \"x\" {\n  servers = [\"ntp1.example.org\"]\n  running = false\n}",
		"logrotate":           `logrotate "x" { paths = ["/var/log/x/*.log"] }`,
		"mount":               "mount \"/srv/data\" {\n  what = \"tmpfs\"\n  type = \"tmpfs\"\n}",
		"swap":                "swap \"/swap-file\" {\n  size    = \"8M\"\n  running = false\n}",
		"kernel_module":       `kernel_module "dccp" { blocked = true }`,
		"locale":              `locale "nl_NL.UTF-8" {}`,
		"alternative":         `alternative "pager" { path = "/bin/more" }`,
		"capability":          `capability "/usr/bin/true" { capabilities = "cap_net_bind_service=ep" }`,
		"tmpfiles":            `tmpfiles "x" { lines = ["d /run/shop 0750 root adm -"] }`,
		"reboot":              `reboot "x" { delay = 1440 }`,
		"nftables":            `nftables "x" { rules = "table inet kinds {}" }`,
		"ca_certificate":      `ca_certificate "x" { certificate = file("ca.pem") }`,
		"socket":              "socket \"x\" {\n  listen_on = [\"127.0.0.1:7777\"]\n  command   = \"/usr/bin/cat\"\n  accept    = true\n}",
		"x509_key":            `x509_key "/root/x.key" {}`,
		"x509_certificate":    "x509_certificate \"/root/x.pem\" {\n  key   = \"/root/given.key\"\n  names = [\"x.example.org\"]\n}",
	}
}

// notAlone are kinds that no base system can have a state of, and why.
func notAlone() map[string]string {
	return map[string]string{
		"container":  "podman of Debian 12 is too old",
		"credential": "it needs a secret, which needs a key",
		"guest":      "it needs an image and a policy: see TestGuest",
	}
}

// bareHost is a host with nothing but the base system, which finds the rest of Debian
// in its package source.
func bareHost(t *testing.T, name string) *machine {
	t.Helper()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), name, repo)
	key, pem := certificate(t)
	m.WriteFile(t, "/root/given.key", key, 0o600)
	m.Run(t, "mkdir", "-p", repository, "/root/flat")
	m.WriteFile(t, repository+"/ca.pem", pem, 0o644)
	m.WriteFile(t, "/root/flat/Packages", "", 0o644)
	m.Copy(t, zipped(t), "/root/font.zip")
	m.Copy(t, checkedIn(t), "/root/shop.tar")
	m.Run(t, "tar", "-C", "/root", "--no-same-owner", "-xf", "/root/shop.tar")
	m.Run(t, "touch", "/run/reboot-required")
	m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "-q", "-y",
		"acl", "attr", "ca-certificates", "openssl", "openssh-client", "openssh-server", "tzdata")
	return m
}

// certificate is a key and a certificate of it.
func certificate(t *testing.T) (key, pem string) {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
		"-nodes",
		"-keyout", dir+"/key", "-out", dir+"/pem", "-subj", "/CN=kinds", "-days", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return read("key"), read("pem")
}

// zipped is a zip archive with a directory around what is in it.
func zipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"font-1.0/", "font-1.0/a.ttf", "font-1.0/more/", "font-1.0/more/b.ttf"} {
		f, err := w.Create(name)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = f.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "font.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkedIn is a tar archive of a git repository with the tag v1.
func checkedIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := "git init -q shop.git; cd shop.git; echo 1 >shop; git add shop; git -c user.name=a -c user.email=a@example.org commit -qm 1; git tag v1; cd ..; tar -cf shop.tar shop.git"
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
	return filepath.Join(dir, "shop.tar")
}

// TestEachKindAlone: a state of each kind of the standard library, alone on a host with
// the base system only, is applied and undone.
func TestEachKindAlone(t *testing.T) {
	t.Parallel()
	m := bareHost(t, "bare")
	states, not := alone(), notAlone()
	for i, name := range stdlibKinds(t) {
		text, ok := states[name]
		if !ok && not[name] == "" {
			t.Errorf("the kind %s is not tried alone", name)
		}
		if !ok || not[name] != "" || !sample.Has(i) {
			continue
		}
		m.write(map[string]string{"fettle.hcl": text + "\n"})
		for _, args := range [][]string{{"apply", "--yes", "--confirm-within", "0s"}, {"plan"},
			{"rollback", "origin", "--yes", "--cross-irreversible"}} {
			if r := m.Exec(append([]string{"env", "-C", repository, "fettle"}, args...)...); r.ExitCode != success {
				t.Errorf("%s: fettle %s: exit code %d\n%s%s", name, strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
			}
		}
	}
	if part, of := sample.Part(); of > 1 {
		t.Logf("part %d of %d of the kinds; make campaigns tries all", part, of)
	}
	if m.has("/opt/font") {
		t.Error("the zip archive is still unpacked after the rollback")
	}
}

// stdlibKinds are the names of the kinds of the standard library.
func stdlibKinds(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(stdlib.Files(), "*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := fs.ReadFile(stdlib.Files(), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^define "([a-z0-9_]+)"`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// unfavourable has each state before what one would do first, a new package source
// at the end, and packages between states that need them.
const unfavourable = `
cron "backup" {
  schedule = "@daily"
  command  = "true"
}
package "jq" {}
exec "jq" {
  command = ["sh", "-c", "jq -n 1 >/root/jq"]
  creates = "/root/jq"
  undo    = ["rm", "-f", "/root/jq"]
}
logrotate "shop" { paths = ["/var/log/shop/*.log"] }
sudoers "deploy" { rules = ["www-data ALL=(root) NOPASSWD: /usr/bin/id"] }
x509_key "/etc/ssl/private/shop.key" {}
timezone "Etc/UTC" {}
capability "/usr/bin/true" { capabilities = "cap_net_bind_service=ep" }
known_host "git.example.org" { key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+" }
nftables "main" { rules = "table inet kinds {}" }
archive "/opt/font" { archive = "/root/font.zip" }
git_checkout "/srv/shop" {
  url      = "file:///root/shop.git"
  revision = "v1"
}
package "early" {
  name  = "demo-early"
  after = [apt_source.demo]
}
exec "demo-early" {
  command = ["sh", "-c", "test -e /usr/share/demo-early && touch /root/demo-early"]
  creates = "/root/demo-early"
  undo    = ["rm", "-f", "/root/demo-early"]
}
unattended_upgrades "security" { package = false }
package "rsync" {}
exec "rsync" {
  command = ["sh", "-c", "rsync --version >/root/rsync"]
  creates = "/root/rsync"
  undo    = ["rm", "-f", "/root/rsync"]
}
apt_source "demo" {
  uris    = ["file:/root/demo"]
  suites  = ["./"]
  trusted = true
}
package "demo-late" {}
file "/usr/share/demo-late/more" { content = "" }
`

// TestFreshHostInAnyOrder: one run brings a fresh host to all of an unfavourable
// repository, a second one finds nothing to do, and the way back takes all of it away.
func TestFreshHostInAnyOrder(t *testing.T) {
	sample.Group(t, 6)
	t.Parallel()
	m := bareHost(t, "fresh")
	demo := hosts.NewRepo(t)
	for _, name := range []string{"demo-early", "demo-late"} {
		demo.Add(t, hosts.Deb{Name: name, Version: "1.0", Files: map[string]string{"/usr/share/" + name + "/x": "x\n"}})
	}
	demo.Publish(t)
	tar := filepath.Join(t.TempDir(), "demo.tar")
	if out, err := exec.Command("tar", "-C", demo.Dir(), "-cf", tar, ".").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	m.Copy(t, tar, "/root/demo.tar")
	m.Run(t, "mkdir", "/root/demo")
	m.Run(t, "tar", "-C", "/root/demo", "--no-same-owner", "-xf", "/root/demo.tar")
	m.write(map[string]string{"fettle.hcl": unfavourable})
	m.fettle(success, "validate")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	for _, p := range []string{"/root/jq", "/root/rsync", "/root/demo-early", "/etc/cron.d/backup",
		"/opt/font/font-1.0/a.ttf"} {
		if !m.has(p) {
			t.Errorf("%s is missing", p)
		}
	}
	m.fettle(success, "rollback", "origin", "--yes", "--cross-irreversible")
	for _, p := range []string{"/root/jq", "/root/rsync", "/root/demo-early", "/etc/cron.d/backup", "/opt/font",
		"/srv/shop", "/usr/bin/jq", "/usr/share/demo-late"} {
		if m.has(p) {
			t.Errorf("%s is still there after the rollback", p)
		}
	}
}
