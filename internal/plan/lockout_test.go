package plan_test

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
)

// TestLockOut: which changes can lock an operator out, by action and address.
func TestLockOut(t *testing.T) {
	const never = ""
	for _, c := range []struct {
		addr addr.Addr
		// from which action on it counts: every, changed (all but create), or never
		counts string
	}{
		{"file:/etc/ssh/sshd_config", "every"},
		{"file:/etc/ssh/sshd_config.d/10-x.conf", "every"},
		{"edit:/etc/ssh/sshd_config#match:^Permit", "every"},
		{"meta:/etc/ssh", "every"},
		{"file:/etc/ssh/ssh_known_hosts", never},
		{"edit:/etc/ssh/ssh_known_hosts#match:x", never},
		{"file:/etc/ssh/ssh_config.d/proxy.conf", never},
		{"file:/etc/sudoers", "every"},
		{"file:/etc/sudoers.d/ops", "every"},
		{"file:/etc/sudoers.d.old/ops", never},
		{"file:/etc/pam.d/sshd", "every"},
		{"file:/usr/share/pam-configs/deny", "every"},
		{"file:/usr/share/pam", never},
		{"file:/etc/security/access.conf", "every"},
		{"file:/etc/nftables.conf", "every"},
		{"file:/etc/systemd/network/10-lan.network", "every"},
		{"file:/etc/network/interfaces", "every"},
		{"file:/etc/networks", never},
		{"file:/etc/netplan/01.yaml", "every"},
		{"file:/etc/nologin", "every"},
		{"file:/etc/sudo.conf", "every"},
		{"file:/etc/pam.conf", "every"},
		{"file:/etc/firewalld/zones/public.xml", "every"},
		{"file:/etc/iptables/rules.v4", "every"},
		{"file:/etc/nftables/x.nft", "every"},
		{"file:/etc/nftables.d/x.nft", "every"},
		{"file:/etc/ufw/user.rules", "every"},
		{"file:/etc/NetworkManager/system-connections/lan", "every"},
		{"file:/etc/systemd/networkd.conf", "every"},
		{"file:/etc/systemd/networkd.conf.d/x.conf", "every"},
		{"file:/etc/group", "every"},
		{"file:/etc/hosts.allow", "every"},
		{"file:/etc/hosts.deny", "every"},
		{"file:/etc/nsswitch.conf", "every"},
		{"file:/etc/passwd", "every"},
		{"file:/etc/shadow", "every"},
		{"file:/etc/shells", "every"},
		{"file:/run/systemd/system/ssh.service", "every"},
		{"file:/lib/systemd/system/ssh.service", "every"},
		{"file:/usr/lib/systemd/system/ssh.service.d/x.conf", "every"},
		{"file:/etc/ssh/ssh_known_hosts2", never},
		{"file:/etc/ssh/ssh_config", never},
		{"meta:/etc/shadow", "every"},
		{"file:/etc/systemd/system/ssh.service.d/port.conf", "every"},
		{"file:/etc/systemd/system/ssh.socket", "every"},
		{"file:/etc/systemd/system/shop.service", never},
		{"meta:/etc", "changed"},
		{"meta:/", "changed"},
		{"file:/etc/systemd", "changed"},
		{"edit:/etc#line:x", never},
		{"meta:/root", "changed"},
		{"file:/root/notes", never},
		{"file:/home/ann/.ssh", "changed"},
		{"file:/home/ann/.ssh/authorized_keys", "changed"},
		{"edit:/root/.ssh/authorized_keys#match:ann", "changed"},
		{"file:/home/ann/.ssh/authorized_keys2", "changed"},
		{"edit:/root/.ssh/authorized_keys2#line:x", "changed"},
		{"meta:/home/ann/.ssh/authorized_keys", "changed"},
		{"file:/home/ann/.ssh/authorized_keys.d/x", never},
		{"file:/home/ann/.ssh/config", never},
		{"file:/home/ann/authorized_keys", never},
		{"unit:ssh.service", "every"},
		{"unit:ssh.socket", "every"},
		{"unit:sshd.service", "every"},
		{"unit:nftables.service", "every"},
		{"unit:systemd-networkd.service", "every"},
		{"unit:systemd-networkd.socket", "every"},
		{"unit:ifup@eth0.service", "every"},
		{"unit:networking.service", "every"},
		{"unit:firewalld.service", "every"},
		{"unit:iptables.service", "every"},
		{"unit:netfilter-persistent.service", "every"},
		{"unit:ufw.service", "every"},
		{"unit:NetworkManager.service", "every"},
		{"unit:nginx.service", never},
		{"act:reload/ssh.service", "every"},
		{"act:restart/systemd-networkd.service", "every"},
		{"act:run/ssh", never},
		{"act:reload/nginx.service", never},
		{"pkg:openssh-server", "changed"},
		{"pkg:sudo", "changed"},
		{"pkg:nftables:amd64", "changed"},
		{"pkg:ifupdown", "changed"},
		{"pkg:iptables-persistent", "changed"},
		{"pkg:libpam-modules", "changed"},
		{"pkg:libpam-runtime", "changed"},
		{"pkg:systemd", "changed"},
		{"pkg:ufw", "every"},
		{"pkg:nginx", never},
		{"member:ann/sudo", "changed"},
		{"member:ann/wheel", "changed"},
		{"member:ann/admin", "changed"},
		{"member:ann/root", "changed"},
		{"member:ann/ssh", "changed"},
		{"member:ann/wheels", never},
		{"member:sudo/audio", never},
		{"member:ann/audio", never},
		{"user:ann", "changed"},
		{"group:ann", never},
		{"sysctl:net.ipv4.ip_forward", never},
		{"exec:pam-deny", never},
	} {
		for _, action := range []plan.Action{plan.Create, plan.Update, plan.Repair, plan.Remove, plan.Purge, plan.Restore,
			plan.Run} {
			want := c.counts == "every" || c.counts == "changed" && action != plan.Create
			p := &plan.Plan{Changes: []plan.Change{{Action: action, Addr: c.addr}}}
			if got := len(plan.LockOut(p)) == 1; got != want {
				t.Errorf("%s %s locks out: %t, want %t", action, c.addr, got, want)
			}
		}
		for _, action := range []plan.Action{plan.Verify, plan.Wait, plan.Adopt, plan.Forget, plan.Drift} {
			p := &plan.Plan{Changes: []plan.Change{{Action: action, Addr: c.addr}}}
			if len(plan.LockOut(p)) != 0 {
				t.Errorf("%s %s locks out", action, c.addr)
			}
		}
	}
}

// TestLockOutOfAccounts: an account counts if people log in to it, and if its
// change can be felt there.
func TestLockOutOfAccounts(t *testing.T) {
	user := func(shell string) *image.Image { return new(image.Of(&image.User{Present: true, Shell: shell})) }
	for _, c := range []struct {
		from  *image.Image
		field string
		want  bool
	}{
		{user("/bin/bash"), "shell", true},
		{user("/bin/bash"), "comment", false},
		{user("/bin/bash"), "", true},
		{user("/usr/sbin/nologin"), "shell", false},
		{user("/bin/false"), "", false},
		{new(image.Of(&image.User{})), "uid", false},
	} {
		change := plan.Change{Action: plan.Update, Addr: "user:ann", From: c.from}
		if c.field != "" {
			change.Differences = []image.Difference{{Field: c.field}}
		}
		if got := len(plan.LockOut(&plan.Plan{Changes: []plan.Change{change}})) == 1; got != c.want {
			t.Errorf("%+v %s: %t", c.from.User(), c.field, got)
		}
	}
}

// TestLockOutOfWhatIsUnknown: what becomes known only during the run may be a change or a removal, so
// that whatever counts for some action counts; nothing else does.
func TestLockOutOfWhatIsUnknown(t *testing.T) {
	for a, want := range map[addr.Addr]bool{
		"file:/home/ann/.ssh/authorized_keys2": true, "file:/root/.ssh": true, "member:ann/wheel": true, "user:ann": true,
		"pkg:openssh-server": true, "meta:/etc": true,
		"file:/etc/sudoers.d/ops": true, "unit:ssh.service": true, "file:/srv/x": false, "member:ann/audio": false,
		"pkg:nginx": false, "": false,
	} {
		if got := len(plan.LockOut(&plan.Plan{Later: []plan.Later{{Addr: a}}})) == 1; got != want {
			t.Errorf("%s, unknown: %t", a, got)
		}
		if create := len(plan.LockOut(&plan.Plan{Later: []plan.Later{{Action: plan.Create, Addr: a}}})) == 1; create &&
			!want {
			t.Errorf("%s is created, and that counts alone", a)
		}
	}
}

// TestLockOutLater: what follows counts too, as far as it is known, and each
// address once.
func TestLockOutLater(t *testing.T) {
	p := &plan.Plan{
		Changes: []plan.Change{{Action: plan.Create, Addr: "file:/etc/sudoers.d/a"},
			{Action: plan.Create, Addr: "file:/srv/x"}},
		Later: []plan.Later{
			{Action: plan.Update, Addr: "file:/etc/sudoers.d/a"}, {Addr: "file:/etc/ssh/sshd_config"},
			{State: "file.unknown"}, {Action: plan.Run, Addr: "act:reload/ssh.service"},
			{Action: plan.Adopt, Addr: "unit:ssh.service"},
		},
	}
	got := plan.LockOut(p)
	want := []addr.Addr{"file:/etc/sudoers.d/a", "file:/etc/ssh/sshd_config", "act:reload/ssh.service"}
	if len(got) != len(want) {
		t.Fatal(got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Error(got)
		}
	}
}
