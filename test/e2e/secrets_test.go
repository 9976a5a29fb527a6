package e2e

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// The values of the secrets, and what stands where they go before.
const (
	firstPassword  = "swordfish-one-5f1b9c77"
	secondPassword = "swordfish-two-9a41cc02"
	oldPassword    = "swordfish-old-77ab02e1"
)

// shop is a service that reads its credentials, a region of its files and a
// file in memory, and an account with a password.
const shop = `
file "unit" {
  path    = "/etc/systemd/system/shop.service"
  content = <<-EOT
    [Service]
    User=www-data
    ExecStartPre=/bin/sh -c 'cat $$CREDENTIALS_DIRECTORY/db-password $$CREDENTIALS_DIRECTORY/url > /run/shop-seen/it'
    ExecStart=/bin/sleep infinity
  EOT
}
directory "/run/shop-seen" {
  owner = "www-data"
  mode  = "0700"
}
credential "db-password" {
  unit   = "shop.service"
  secret = "db/password"
  notify = [service.shop.restart]
}
credential "url" {
  unit     = "shop.service"
  content  = "postgres://shop:${secret("db/password")}@db/shop"
  volatile = true
  notify   = [service.shop.restart]
}
service "shop" {
  running = true
  after   = [file.unit, credential.db-password, credential.url, directory["/run/shop-seen"]]
}
directory "/run/shop" {}
file "/run/shop/password" { secret = "db/password" }
ini_key "db.password" {
  path  = "/etc/shop.ini"
  value = secret("db/password")
}
file_line "DB_PASSWORD" {
  path   = "/etc/shop.env"
  key    = "DB_PASSWORD"
  value  = secret("db/password")
  create = true
}
user "ada" {
  uid           = 1700
  password_hash = secret("users/ada")
}
`

// TestSecretsOnAHost: a service reads its credentials, another value of the secret
// restarts it, a rollback gives it the old one, a start of the host takes away what
// is in memory and the next run brings it, and all of it goes without a trace; no
// value is on the disk but where it is for.
func TestSecretsOnAHost(t *testing.T) {
	sample.Group(t, 3)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "secrets", repo)
	m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends", "git")
	m.WriteFile(t, "/etc/shop.ini", "[db]\nuser = shop\npassword = "+oldPassword+"\n", 0o600)
	m.Run(t, "mkdir", "-p", repository)
	m.git("init", "-q", ".")
	m.write(map[string]string{"fettle.hcl": "target \"secrets\" {}\n"})
	m.fettle(success, "secret", "init")
	m.Run(t, "fettle", "secret", "identity")
	m.set("db/password", firstPassword)
	m.set("users/ada", m.hash("pass-of-ada-1"))
	m.commit("Begin")
	before := m.Snapshot(t)

	m.write(map[string]string{"fettle.hcl": "target \"secrets\" {}\n" + shop})
	m.commit("The shop")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	m.saw(firstPassword)
	m.opens("pass-of-ada-1", true)
	m.want("[db]\nuser = shop\npassword = "+firstPassword, "cat", "/etc/shop.ini")
	m.want("600 root", "stat", "-c", "%a %U", "/etc/shop.env")
	m.onlyWhereItIsFor(firstPassword)

	pid := m.Run(t, "systemctl", "show", "-P", "MainPID", "shop")
	m.set("db/password", secondPassword)
	m.set("users/ada", m.hash("pass-of-ada-2"))
	m.commit("Another password")
	m.says(m.fettle(changes, "plan", "-v"), "secret", "shop.service.db-password")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.saw(secondPassword)
	if now := m.Run(t, "systemctl", "show", "-P", "MainPID", "shop"); now == pid {
		t.Error("the service was not restarted")
	}
	m.opens("pass-of-ada-2", true)
	m.opens("pass-of-ada-1", false)
	m.onlyWhereItIsFor(secondPassword)
	m.nowhere(firstPassword)

	m.fettle(success, "rollback", "--yes")
	m.saw(firstPassword)
	m.opens("pass-of-ada-1", true)
	m.nowhere(secondPassword)
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")

	m.Reboot(t)
	m.settle()
	m.want("inactive", "systemctl", "is-active", "shop") // nothing starts it with the host
	if m.has("/run/shop/password") || m.has("/run/credstore") {
		t.Error("what is in memory outlived a start of the host")
	}
	m.fettle(changes, "drift")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.saw(secondPassword)

	m.fettle(success, "rollback", "origin", "--yes")
	m.want("[db]\nuser = shop\npassword = "+oldPassword, "cat", "/etc/shop.ini")
	m.nowhere(secondPassword)
	m.nowhere(firstPassword)
	m.Run(t, "systemctl", "reset-failed")
	for _, line := range hosts.Compare(before, m.Snapshot(t), remains()) {
		t.Errorf("after rollback: %s", line)
	}
}

// set keeps a secret.
func (m *machine) set(name, value string) {
	m.t.Helper()
	if r := m.ExecInput(strings.NewReader(value+"\n"), "env", "-C", repository, "fettle", "secret", "set",
		name); r.ExitCode != 0 {
		m.t.Fatalf("secret set %s: %s%s", name, r.Stdout, r.Stderr)
	}
}

// hash is a password as shadow(5) has it.
func (m *machine) hash(password string) string {
	m.t.Helper()
	return strings.TrimSpace(m.Run(m.t, "openssl", "passwd", "-6", password))
}

// saw wants the service to have read a value, and to be the one that can.
func (m *machine) saw(value string) {
	m.t.Helper()
	m.want(value+"\npostgres://shop:"+value+"@db/shop", "cat", "/run/shop-seen/it")
	m.want("active", "systemctl", "is-active", "shop")
	m.want(value, "cat", "/run/shop/password")
	for _, p := range []string{"/etc/credstore/shop.service.db-password", "/run/credstore/shop.service.url",
		"/run/credentials/shop.service/url", "/run/shop/password", "/etc/shop.env"} {
		if r := m.Exec("runuser", "-u", "nobody", "--", "cat", p); r.ExitCode == 0 {
			m.t.Errorf("everybody can read %s", p)
		}
	}
}

// opens tells whether ada can come in with a password.
func (m *machine) opens(password string, want bool) {
	m.t.Helper()
	r := m.ExecInput(strings.NewReader(password+"\n"), "runuser", "-u", "www-data", "--", "su", "ada", "-c", "id -un")
	if got := r.ExitCode == 0; got != want {
		m.t.Errorf("ada comes in with %s: %v, want %v: %s", password, got, want, r.Stderr)
	}
}

// holds are the files of the disk that have a value in them. What the kinds write
// is in memory or in /etc; the repository has it encrypted. The value is passed on standard
// input: the command line of grep is one that commandLinesLack reads.
func (m *machine) holds(value string) []string {
	m.t.Helper()
	r := m.ExecInput(strings.NewReader(value+"\n"), "grep", "-rlaF", "--exclude-dir=proc", "--exclude-dir=sys",
		"--exclude-dir=dev", "--exclude-dir=run", "-f", "-", "/")
	if r.ExitCode < 0 {
		m.t.Fatalf("cannot search the host: %s", r.Stderr)
	}
	return strings.Fields(r.Stdout)
}

func (m *machine) onlyWhereItIsFor(value string) {
	m.t.Helper()
	want := "/etc/credstore/shop.service.db-password /etc/shop.env /etc/shop.ini"
	if got := m.holds(value); strings.Join(slices.Sorted(slices.Values(got)), " ") != want {
		m.t.Errorf("it is in %v, want %s", got, want)
	}
}

func (m *machine) nowhere(value string) {
	m.t.Helper()
	if got := m.holds(value); len(got) > 0 {
		m.t.Errorf("a value that is used no more is in %v", got)
	}
}
