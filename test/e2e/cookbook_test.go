package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// recipes are the repositories of examples/cookbook that a host without a network can apply, each
// with one of its targets and what must be true afterwards. The others need packages that the test
// repository does not contain; the tests of package examples compile them.
var recipes = []struct {
	name, target string
	after        []string
}{
	{"backup", "db1", []string{"systemctl start backup.service && test -d /var/backups/restic/snapshots"}},
	{"environments", "app2", []string{`grep -q '"workers":16' /etc/app/app.json`,
		`grep -q '"features":\["search"\]' /etc/app/app.json`}},
	{"firewall", "web1", []string{"nft list ruleset | grep -q 'tcp dport 443 accept'"}},
	{"loops", "web1", []string{"test \"$(cat /etc/site-quotas)\" = 'shop 20G'",
		"test \"$(stat -c %U /srv/sites/shop)\" = ann", "id kim"}},
	{"monitoring", "web1", []string{"curl -sf http://127.0.0.1:9100/metrics | grep -q node_systemd"}},
	{"nginx-tls", "web1",
		[]string{"curl -skf --resolve www.example.org:443:127.0.0.1 https://www.example.org/ | grep -q www.example.org"}},
	{"release", "app1", []string{"systemctl is-active app.service", "pgrep -u app sleep"}},
	{"schedules", "app1", []string{"systemctl start disk-report.service && test -s /var/log/disk-report.log"}},
	{"ssh-hardening", "web1", []string{"sshd -T | grep -qx 'passwordauthentication no'"}},
	{"users", "db1", []string{"sudo -l -U kim | grep -q NOPASSWD", "grep -q lee@laptop /home/lee/.ssh/authorized_keys"}},
}

// TestCookbook applies the recipes one after the other to one host: each is in sync afterwards,
// does what its page promises, and leaves with a rollback to the origin.
func TestCookbook(t *testing.T) {
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "cook1", repo)
	m.Run(t, "apt-get", "install", "-qy", "curl")
	for _, r := range sample.Pick(recipes) {
		m.recipe(r.name)
		m.Run(t, "hostname", r.target) // a host is the target of its name
		m.fettle(success, "apply", "-t", r.target, "--yes", "--confirm-within", "0s")
		m.fettle(success, "plan", "-t", r.target)
		for _, command := range r.after {
			m.Run(t, "sh", "-c", command)
		}
		m.fettle(success, "rollback", "origin", "--yes")
	}
}

// recipe gives a host the repository of one recipe, instead of another.
func (m *machine) recipe(name string) {
	m.t.Helper()
	tar := filepath.Join(m.t.TempDir(), name+".tar")
	dir := filepath.Join("../../examples/cookbook", name)
	if _, err := os.Stat(dir); err != nil {
		m.t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-cf", tar, ".").CombinedOutput(); err != nil {
		m.t.Fatalf("tar: %v\n%s", err, out)
	}
	m.Copy(m.t, tar, "/root/recipe.tar")
	m.Run(m.t, "rm", "-rf", repository)
	m.Run(m.t, "mkdir", "-p", repository)
	m.Run(m.t, "tar", "-C", repository, "--no-same-owner", "-xf", "/root/recipe.tar")
}
