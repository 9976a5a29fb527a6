package hosts_test

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// A test compares a host that a package came to and went from with what it was
// before. It runs in a package whose TestMain calls hosts.Main.
func Example() {
	test := func(t *testing.T) {
		repo := hosts.NewRepo(t)
		repo.Add(t, hosts.Deb{Name: "hello", Version: "1", Files: map[string]string{"/etc/hello": "hello\n"}})
		repo.Publish(t)

		h := hosts.NewWorld(t).Boot(t, "web1", hosts.Options{Repo: repo})
		h.Run(t, "apt-get", "update")
		before := h.Snapshot(t)
		h.Run(t, "apt-get", "install", "-y", "hello")
		h.Reboot(t)
		h.Run(t, "apt-get", "purge", "-y", "hello")

		allow := append(hosts.Volatile(), "/var/log/**", "/var/lib/dpkg/**", "/var/cache/apt/**")
		for _, difference := range hosts.Compare(before, h.Snapshot(t), allow) {
			t.Error(difference)
		}
	}
	_ = test
}
