package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// prepare makes a host what the kinds expect of Debian, and gives it what they
// fetch and trust.
func prepare(m *machine) {
	m.t.Helper()
	m.Run(m.t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"acl", "curl", "git", "kmod", "logrotate", "sudo", "systemd-resolved", "systemd-timesyncd")
	m.WriteFile(m.t, "/etc/systemd/system-generators/quadlet", quadlet, 0o755)
	m.Run(m.t, "ip", "link", "add", "kinds0", "type", "bridge")
	m.Run(m.t, "sh", "-ec",
		"mkdir -p /root/shop-1.2/bin; echo shop >/root/shop-1.2/bin/shop; tar -C /root -cf /root/shop.tar shop-1.2")
	m.Run(m.t, "mkdir", "-p", repository+"/files")
	m.Run(m.t, "sh", "-ec", "mkdir -p /root/module-1.0; echo module >/root/module-1.0/name; tar -C /root -cf "+
		repository+"/files/module.tar module-1.0")
	m.Run(m.t, "sh", "-ec",
		"git init -q /root/shop.git; cd /root/shop.git; git config user.email a@example.org; git config user.name a; for v in 1 2; do echo $v >shop; git add shop; git commit -qm $v; git tag v$v; done")
	m.Run(m.t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
		"-keyout", "/root/ca.key", "-out", repository+"/ca.pem", "-subj", "/CN=kinds", "-days", "2")
	m.Run(m.t, "touch", "/run/reboot-required")
	m.WriteFile(m.t, "/etc/app.yaml", "# what\nserver:\n  port: 80 # plain\n", 0o644)
	m.WriteFile(m.t, "/etc/app.toml", "[project] # what\n", 0o600)
	m.WriteFile(m.t, "/etc/app.xml", "<fontconfig>\n  <!-- what -->\n  <dir>/old</dir>\n</fontconfig>\n", 0o644)
	m.WriteFile(m.t, "/root/app.json", "{\"store\":{}}", 0o644)
}

// TestStandardLibraryOnAHost applies the kinds of the standard library on one
// host, asks the real tools, asks for their absence, and takes all of it back.
func TestStandardLibraryOnAHost(t *testing.T) { eachRelease(t, standardLibraryOnAHost) }

func standardLibraryOnAHost(t *testing.T, r hosts.Release) {
	m := newMachine(t, hosts.NewWorldOf(t, r), "stdlib", debianRepo(t, r))
	prepare(m)
	sum, _, _ := strings.Cut(m.Run(t, "sha256sum", "/root/shop.tar"), " ")
	before := m.Snapshot(t)

	files := map[string]string{"fettle.hcl": strings.Replace(wholeKinds, "SHOP", sum, 1) + hostKinds,
		"templates/shop.conf.tmpl": "port = ${port}\n"}
	m.write(files)
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	asked(m)
	again(m, files)
	m.says(m.fettle(success, "rollback", "origin", "--yes"), "stays: libc-l10n: needed by libc6")
	withoutRecommended(m)
	backAgain(m, before, debianRemains(r)...)

	m.write(map[string]string{"fettle.hcl": hostKinds + otherKinds})
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	m.want("root:adm:750", "stat", "-c", "%U:%G:%a", "/run/shop")
	m.want("/bin/more", "readlink", "/etc/alternatives/pager")
	m.want("0 Internet Site", "sh", "-c", "echo GET kinds/answer | debconf-communicate tzdata")

	m.write(map[string]string{"fettle.hcl": goneKinds})
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	gone(m)
	m.fettle(success, "rollback", "origin", "--yes", "--cross-irreversible") // the choice of pager
	m.Run(t, "userdel", "kindshop")                                          // whom sysusers made stays
	backAgain(m, before, append(debianRemains(r), "/srv/my-data")...)        // a directory that was mounted over
	refused(m)
}

// withoutRecommended removes what came with locales and stays, since libc6 recommends it.
func withoutRecommended(m *machine) {
	m.t.Helper()
	m.want("libc-l10n", "apt-mark", "showauto", "libc-l10n")
	m.Run(m.t, "dpkg", "--purge", "libc-l10n")
}

// debianRemains lists what Debian's own tools leave different on a release.
func debianRemains(r hosts.Release) []string {
	if r == hosts.Bookworm {
		return nil
	}
	return []string{
		"/etc/default/locale", // removed with the package locales; each boot makes the link again
		"/etc/systemd/system/timers.target.wants/apt-daily.timer", // the same unit by its path below /usr
	}
}

// asked asks the tools that the kinds are made for.
func asked(m *machine) {
	for _, q := range []struct{ want, command string }{
		{"root", "runuser -u www-data -- sudo -n id -un"},
		{"440", "stat -c %a /etc/sudoers.d/deploy"},
		{"permitrootlogin no", "sshd -T | grep permitrootlogin"},
		{"banner /etc/issue.net", "sshd -T | grep ^banner"},
		{"active", "systemctl is-active ssh"},
		{"2", "ssh-keygen -F git.example.org -f /etc/ssh/ssh_known_hosts | wc -l"},
		{"2", "ssh-keygen -F '[git.example.org]:2222' -f /etc/ssh/ssh_known_hosts | wc -l"},
		{"777", "su -s /bin/sh -c 'ulimit -Hn' www-data"},
		{"1", "nft list ruleset | grep -c 'tcp dport 7 drop'"},
		{"active", "systemctl is-active nftables"},
		{repository + "/ca.pem: OK", "openssl verify -CApath /etc/ssl/certs " + repository + "/ca.pem"},
		{"tmpfs", "findmnt -n -o FSTYPE /srv/my-data"},
		{"750", "stat -c %a /srv/my-data"},
		{"enabled", `systemctl is-enabled 'srv-my\x2ddata.mount'`},
		{"600", "stat -c %a /swap-file && swaplabel /swap-file >/dev/null"},
		{"enabled", `systemctl is-enabled 'swap\x2dfile.swap'`},
		{"options loop max_loop=8", "modprobe --showconfig | grep ^options.loop"},
		{"install dccp /bin/false", "modprobe --showconfig | grep ^install.dccp"},
		{"nl_NL.utf8", "locale -a | grep nl_"},
		{"LANG=nl_NL.UTF-8", "grep ^LANG /etc/default/locale"},
		{"/usr/bin/true cap_net_bind_service=ep", "getcap /usr/bin/true"},
		{"RuntimeMaxUse=16M", "systemd-analyze cat-config systemd/journald.conf | grep ^RuntimeMaxUse"},
		{"NTP=ntp1.example.org", "systemd-analyze cat-config systemd/timesyncd.conf | grep ^NTP"},
		{"0", "logrotate -d /etc/logrotate.d/shop >/dev/null 2>&1; echo $?"},
		{"nameserver 192.0.2.1", "grep nameserver /etc/resolv.conf"},
		{"1", "resolvectl dns | grep -c 192.0.2.53"},
		{"active", "systemctl is-active systemd-networkd"},
		{"jq:\n  Installed: (none)\n  Candidate: (none)", "apt-cache policy jq | head -3"},
		{"APT::Periodic::Unattended-Upgrade \"1\";", "apt-config dump | grep Periodic::Unattended"},
		{"hello", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/7777; echo hello >&3; read -r line <&3; echo "$line"'`},
		{"active", "systemctl is-active redis.service"},
		{"www-data:shop", `echo "$(stat -c %U /opt/shop-1.2/bin/shop):$(cat /opt/shop-1.2/bin/shop)"`},
		{"1", "grep -c MODE=reboot /run/systemd/shutdown/scheduled"},
		{"module", "cat /opt/module-1.0/name"},
		{"www-data:1", `echo "$(stat -c %U /srv/shop):$(cat /srv/shop/shop)"`},
		{"root:adm:640", "stat -c %U:%G:%a /etc/ssl/private/kinds.key"},
		{"/etc/ssl/kinds.pem: OK",
			"openssl verify -CAfile /etc/ssl/kinds-ca.pem -verify_hostname www.example.org -verify_ip 192.0.2.7 /etc/ssl/kinds.pem"},
		{"1", "openssl x509 -in /etc/ssl/kinds-ca.pem -noout -text | grep -c CA:TRUE"},
		{"user:backup:r-x", "getfacl -cp /srv/shop | grep backup"},
		{"1", "grep -c 'pam_faildelay.so delay=100' /etc/pam.d/common-auth"},
		{"port = 8080", "cat /etc/kinds/shop.conf"},
		{"masked", "systemctl is-enabled apt-daily.timer"},
		{`{"log-opts": {"max-size": "10m"}}`,
			`perl -MJSON::PP -e 'print JSON::PP->new->canonical->space_before(0)->space_after->encode(decode_json(join "", <>))' /etc/kinds.json`},
		{"# what\nserver:\n  port: 80 # plain\n  tls:\n    min: \"1.3\"", "cat /etc/app.yaml"},
		{"[project] # what\nversion = \"2\"", "cat /etc/app.toml"},
		{"Seal=true", "systemd-analyze cat-config systemd/journald.conf | grep ^Seal"},
		{"<fontconfig>\n  <!-- what -->\n  <dir>/usr/share/fonts &amp; more</dir>\n</fontconfig>", "cat /etc/app.xml"},
	} {
		m.want(q.want, "sh", "-c", q.command)
	}
	m.await("the address of kinds0", func() bool {
		return strings.Contains(m.Exec("ip", "-o", "address", "show", "kinds0").Stdout, "192.0.2.7/24")
	})
}

// again has the kinds that a later run may find to do look again: another
// commit, other names, a certificate that is about to end.
func again(m *machine, files map[string]string) {
	m.t.Helper()
	before := m.Run(m.t, "sha256sum", "/etc/ssl/kinds.pem", "/etc/ssl/kinds-ca.pem")
	text := files["fettle.hcl"]
	files["fettle.hcl"] = strings.NewReplacer(`"v1"`, `"v2"`, `"192.0.2.7"]
  ca_c`, `"192.0.2.8"]
  ca_c`).Replace(text)
	m.write(files)
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.want("2", "cat", "/srv/shop/shop")
	m.want("1", "sh", "-c", "openssl x509 -in /etc/ssl/kinds.pem -noout -text | grep -c 192.0.2.8")
	m.write(map[string]string{"fettle.hcl": strings.ReplaceAll(files["fettle.hcl"], "names          =",
		"renew_before   = 364\n  names          =")})
	m.fettle(success, "plan")
	m.Run(m.t, "openssl", "req", "-x509", "-key", "/etc/ssl/private/kinds-ca.key", "-subj", "/CN=kinds authority",
		"-days", "2", "-out", "/etc/ssl/kinds-ca.pem")
	m.says(m.fettle(changes, "plan"), "exec:x509-/etc/ssl/kinds-ca.pem")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	if m.Run(m.t, "sha256sum", "/etc/ssl/kinds.pem", "/etc/ssl/kinds-ca.pem") == before {
		m.t.Error("the certificates are the same")
	}
	m.want("/etc/ssl/kinds.pem: OK", "openssl", "verify", "-CAfile", "/etc/ssl/kinds-ca.pem", "/etc/ssl/kinds.pem")
	files["fettle.hcl"] = text
	m.write(files)
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.want("1", "cat", "/srv/shop/shop")
}

// backAgain demands the host that was there before, and that what runs knows.
func backAgain(m *machine, before hosts.Snapshot, stays ...string) {
	m.t.Helper()
	stays = append(stays, "unit network-pre.target", "unit network.target") // reached once, they stay so
	m.purgeRemoved()
	for _, line := range hosts.Compare(before, m.Snapshot(m.t), append(remains(), stays...)) {
		m.t.Errorf("after rollback: %s", line)
	}
	for _, q := range []struct{ want, command string }{
		{"permitrootlogin without-password", "sshd -T | grep permitrootlogin"},
		{"", "getcap /usr/bin/true"},
		{"0", "resolvectl dns | grep -c 192.0.2.53"},
		{"no", "test -e /run/systemd/shutdown/scheduled && echo yes || echo no"},
		{"0", "grep -c pam_faildelay /etc/pam.d/common-auth"},
		{"", "systemctl --failed --plain --no-legend | grep redis"},
		{"failed", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/7777' 2>/dev/null || echo failed"},
	} {
		m.want(q.want, "sh", "-c", q.command)
	}
}

// gone demands that nothing is left of what was to be absent.
func gone(m *machine) {
	m.t.Helper()
	for _, p := range []string{"/etc/sudoers.d/deploy", "/etc/ssh/sshd_config.d/10-hardening.conf",
		"/etc/ssh/sshd_config.d/20-banner.conf",
		"/etc/systemd/system/echo.socket", "/run/systemd/generator/redis.service"} {
		if m.has(p) {
			m.t.Errorf("%s is still there", p)
		}
	}
	for _, q := range []struct{ want, command string }{
		{"", "findmnt -n -o FSTYPE /srv/my-data"},
		{"permitrootlogin without-password", "sshd -T | grep permitrootlogin"},
		{"Status: auto", "update-alternatives --query pager | grep Status"},
		{"0 None", "echo GET kinds/answer | debconf-communicate tzdata"},
		{"inactive", "systemctl is-active redis.service"},
		{"", "systemctl --failed --plain --no-legend | grep redis"},
	} {
		m.want(q.want, "sh", "-c", q.command)
	}
}

// refused gives the tools content that they cannot take: it never gets into
// place, or does not stay.
func refused(m *machine) {
	m.t.Helper()
	for _, c := range []struct{ path, state string }{
		{"/etc/sudoers.d/bad", "sudoers \"bad\" {\n  rules = [\"this is no rule\"]\n}\n"},
		{"/etc/ssh/sshd_config.d/bad.conf", "sshd_config \"bad\" {\n  settings = { NoSuchKeyword = \"yes\" }\n}\n"},
		{"/etc/logrotate.d/bad", "logrotate \"bad\" {\n  paths   = [\"/var/log/bad\"]\n  options = [\"rotate never\"]\n}\n"},
		{"/usr/local/share/ca-certificates/bad.crt",
			"ca_certificate \"bad\" {\n  certificate = \"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\"\n}\n"},
	} {
		m.write(map[string]string{"fettle.hcl": c.state})
		m.says(m.fettle(failed, "apply", "--yes", "--confirm-within", "0s"), c.path)
		if m.has(c.path) {
			m.t.Errorf("%s is in place", c.path)
		}
	}
}
