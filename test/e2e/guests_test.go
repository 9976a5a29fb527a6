package e2e

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// supervisorOf makes a host with systemd-container and an image of its own root.
func supervisorOf(t *testing.T, m *machine) (sum string) {
	t.Helper()
	m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"systemd-container")
	m.Run(t, "mkdir", "-p", "/srv")
	m.Run(t, "tar", "-C", "/", "--one-file-system", "--exclude=./var/cache", "--exclude=./srv", "--exclude=./root",
		"--exclude=./var/lib/machines", "--exclude=./usr/share", "-cf", "/srv/image.tar", ".")
	// The host is a container itself, so its guests need the cgroups that it has, and cannot have devices of their own.
	m.WriteFile(t, "/etc/systemd/system/systemd-nspawn@.service.d/nested.conf", `[Service]
Environment=SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
ExecStart=
ExecStart=systemd-nspawn --quiet --keep-unit --boot --link-journal=no --settings=override --machine=%i
DevicePolicy=auto
WatchdogSec=0
`, 0o644)
	m.Run(t, "systemctl", "daemon-reload")
	sum, _, _ = strings.Cut(m.Run(t, "sha256sum", "/srv/image.tar"), " ")
	return sum
}

const guestPolicy = "policy { create_guests = true }\n"

func guestOf(sum, rest string) string {
	return fmt.Sprintf("guest \"inner\" {\n  image    = \"/srv/image.tar\"\n  sha256   = %q\n  package  = false\n"+
		"  settings = \"[Network]\\nPrivate=no\\nVirtualEthernet=no\"\n%s}\n", sum, rest)
}

// TestGuest makes a guest on a booted host, rolls it back, removes it from the configuration, and deletes it. Only the
// word delete_data deletes data.
func TestGuest(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	r := hosts.DefaultRelease()
	m := newMachine(t, hosts.NewWorldOf(t, r), "super", debianRepo(t, r))
	sum := supervisorOf(t, m)
	m.write(map[string]string{"fettle.hcl": guestOf(sum, "")})
	m.says(m.fettle(failed, "plan"), "Guests not allowed")
	m.write(map[string]string{"fettle.hcl": guestPolicy + guestOf(sum, "")})
	apply := func(code int) output { return m.fettle(code, "apply", "--yes", "--confirm-within", "0s") }
	exists := func(want string) {
		t.Helper()
		m.want(want, "sh", "-c", "test -e /var/lib/machines/inner/etc && echo yes || echo no")
	}

	killedWhileItUnpacks(m)
	exists("no")
	apply(success)
	m.fettle(success, "plan")
	exists("yes")
	m.want("", "sh", "-c", "ls -A /var/lib/machines | grep fettle-new || :")
	m.await("the guest runs", func() bool { return m.Exec("test", "-e", "/run/systemd/machines/inner").ExitCode == 0 })
	m.says(m.fettle(success, "facts", "guests"), "running")
	m.Run(t, "sh", "-c", "echo data >/var/lib/machines/inner/srv-data")

	m.fettle(success, "rollback", "origin", "--yes") // it has data
	exists("yes")
	m.want("1", "sh", "-c", "test -e /run/systemd/machines/inner; echo $?")
	apply(success) // managed again, with its data
	m.want("data", "cat", "/var/lib/machines/inner/srv-data")

	m.write(map[string]string{"fettle.hcl": guestPolicy})
	apply(success) // no longer managed
	exists("yes")
	absent := guestPolicy + "guest \"inner\" {\n  ensure = \"absent\"\n%s}\n"
	m.write(map[string]string{"fettle.hcl": fmt.Sprintf(absent, "")})
	m.says(apply(failed), "set delete_data = true")
	exists("yes")
	m.write(map[string]string{"fettle.hcl": fmt.Sprintf(absent, "  delete_data = true\n")})
	m.says(m.fettle(changes, "plan"), "delete-guest-inner-with-its-data")
	apply(success)
	exists("no")
	m.want("", "sh", "-c", "ls -A /var/lib/machines | grep fettle || :")
	m.fettle(success, "plan")

	m.Run(t, "mkdir", "-p", "/var/lib/machines/inner/etc", "/etc/systemd/nspawn") // a guest of another owner
	m.WriteFile(t, "/etc/systemd/nspawn/inner.nspawn", "[Exec]\n", 0o644)
	m.says(apply(failed), "fettle did not make the guest inner")
	m.write(map[string]string{"fettle.hcl": guestPolicy + guestOf(sum, "")})
	m.says(apply(failed), "fettle did not make it")
	exists("yes")
	m.want("[Exec]", "cat", "/etc/systemd/nspawn/inner.nspawn")
}

// killedWhileItUnpacks kills all processes of a run that has unpacked an image. There is no guest afterwards, and the
// next run removes the incomplete root.
func killedWhileItUnpacks(m *machine) {
	m.t.Helper()
	const tar = "/usr/local/bin/tar"
	m.WriteFile(m.t, tar, "#!/bin/sh\n/usr/bin/tar \"$@\"\ntouch /run/unpacked\nexec sleep infinity\n", 0o755)
	m.Run(m.t, "systemd-run", "--unit=killed", "--working-directory="+repository, "/usr/local/bin/fettle", "apply",
		"--yes", "--confirm-within", "0s")
	m.await("the image is unpacked", func() bool { return m.Exec("test", "-e", "/run/unpacked").ExitCode == 0 })
	m.want(".fettle-new-inner", "sh", "-c", "ls -A /var/lib/machines | grep fettle")
	m.Run(m.t, "systemctl", "kill", "--signal=KILL", "killed")
	m.await("the run is dead", func() bool { return m.Exec("systemctl", "is-active", "-q", "killed").ExitCode != 0 })
	m.Run(m.t, "rm", tar)
	m.fettle(success, "recover")
	m.says(m.fettle(success, "facts", "guests"), "{}")
}

// TestGuestOfFleet: an agent makes a guest, which enrols itself with a token of one use. The hub relates the new target
// to the guest of its supervisor, shows that it stopped, and the guest is deleted only with delete_data.
func TestGuestOfFleet(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 1)
	hub, a := f.hubs[0], f.agents[0]
	sum := supervisorOf(t, a)
	f.begin()
	token := f.output(hub, "fettle", "token", "create", "--uses", "1", "--label", "role=guest")
	a.WriteFile(t, "/root/inner.token", token, 0o600)
	f.policy = "policy {\n  rollout       = \"at-once\"\n  create_guests = true\n}\n"
	f.module = counts + guestOf(sum, "  hub        = \"https://"+hub.Addr+":7440\"\n"+
		"  token_file = \"/root/inner.token\"\n")
	f.commit("guest")
	f.arrived()
	shows := func(target, want string) {
		t.Helper()
		f.await(target+" shows "+want, func() bool {
			out := strings.Join(strings.Fields(hub.Exec("fettle", "target", "show", target).Stdout), " ")
			return strings.Contains(out, want)
		})
	}
	shows("inner", "supervisor "+a.Name)
	shows("inner", "its guest inner is running")
	shows(a.Name, "inner running inner")
	hub.says(output{out: hub.Run(t, "fettle", "target", "list", "--supervisor", a.Name)}, "inner")
	a.want("1", "sh", "-c", "test -e /var/lib/machines/inner/etc/fettle/enrol-token; echo $?")

	f.module = counts + "guest \"inner\" { ensure = \"absent\" }\n"
	f.commit("absent")
	f.await("the guest has data", func() bool {
		return strings.Contains(hub.Exec("fettle", "target", "show", a.Name).Stdout, "set delete_data = true")
	})
	shows(a.Name, "inner stopped inner")
	f.module = counts + "guest \"inner\" {\n  ensure      = \"absent\"\n  delete_data = true\n}\n"
	f.commit("deleted")
	f.await("the guest is deleted", func() bool { return a.Exec("test", "-e", "/var/lib/machines/inner").ExitCode != 0 })
}
