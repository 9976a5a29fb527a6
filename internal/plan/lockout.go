package plan

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// LockOut returns the addresses of a plan whose change can prevent logins or the use of root: sshd,
// sudo, PAM, firewall, network, keys and accounts. It considers files, packages and units; the effect
// of commands is unknown.
func LockOut(p *Plan) []addr.Addr {
	var out []addr.Addr
	take := func(a addr.Addr, action Action, from *image.Image) {
		if action.Mutates() && isWayIn(a, action, from) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, c := range p.Changes {
		if c.Addr.Kind() != addr.KindUser || changesLogin(c) {
			take(c.Addr, c.Action, c.From)
		}
	}
	for _, l := range p.Later {
		action := l.Action
		if action == "" { // known after apply: it can be any action
			action = Update
		}
		take(l.Addr, action, nil)
	}
	return out
}

func isWayIn(a addr.Addr, action Action, from *image.Image) bool {
	switch a.Kind() {
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		return pathIsWayIn(a, action)
	case addr.KindUnit:
		return unitIsWayIn(a.Name())
	case addr.KindAct:
		verb, unit, ok := strings.Cut(a.Name(), "/")
		return ok && verb != "run" && unitIsWayIn(unit)
	case addr.KindPkg:
		name, _, _ := strings.Cut(a.Name(), ":")
		return slices.Contains(closingPackages(), name) || action != Create && slices.Contains(loginPackages(), name)
	case addr.KindMember:
		_, group, _ := strings.Cut(a.Name(), "/")
		return action != Create && slices.Contains([]string{"admin", "root", "ssh", "sudo", "wheel"}, group)
	case addr.KindUser:
		return action != Create && logsIn(from)
	}
	return false
}

// waysIn returns directories and files that control logins, including everything below them.
func waysIn() []string {
	return []string{
		"/etc/ssh",
		"/etc/sudoers", "/etc/sudoers.d", "/etc/sudo.conf",
		"/etc/pam.conf", "/etc/pam.d", "/etc/security", "/usr/share/pam-configs",
		"/etc/firewalld", "/etc/iptables", "/etc/nftables", "/etc/nftables.conf", "/etc/nftables.d", "/etc/ufw",
		"/etc/NetworkManager", "/etc/netplan", "/etc/network",
		"/etc/systemd/network", "/etc/systemd/networkd.conf", "/etc/systemd/networkd.conf.d",
		"/etc/group", "/etc/hosts.allow", "/etc/hosts.deny", "/etc/nologin",
		"/etc/nsswitch.conf", "/etc/passwd", "/etc/shadow", "/etc/shells",
	}
}

// goingOut returns the parts of waysIn for outgoing connections.
func goingOut() []string {
	return []string{"/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d",
		"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
}

// pathIsWayIn reports whether a change of a path can prevent logins. This includes the removal or mode
// of directories above a way in, and keys in use. A new key or directory cannot.
func pathIsWayIn(a addr.Addr, action Action) bool {
	p, made := a.Path(), action == Create
	if within(p, goingOut()) {
		return false
	}
	if within(p, waysIn()) || unitFileIsWayIn(p) {
		return true
	}
	base, dir := path.Base(p), path.Base(path.Dir(p))
	if base == ".ssh" || dir == ".ssh" && strings.HasPrefix(base, "authorized_keys") {
		return !made
	}
	return !made && a.Kind() != addr.KindEdit && (p == "/root" || p == "/home" || above(p, waysIn()))
}

func within(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") })
}

func above(p string, paths []string) bool {
	return slices.ContainsFunc(paths, func(w string) bool { return strings.HasPrefix(w, strings.TrimSuffix(p, "/")+"/") })
}

// unitFileIsWayIn reports whether a path is the unit file, or a drop-in, of a unit for logins.
func unitFileIsWayIn(p string) bool {
	for _, dir := range []string{"/etc/systemd/system/", "/lib/systemd/system/",
		"/run/systemd/system/", "/usr/lib/systemd/system/"} {
		if rest, ok := strings.CutPrefix(p, dir); ok {
			unit, _, _ := strings.Cut(rest, "/")
			return unitIsWayIn(strings.TrimSuffix(unit, ".d"))
		}
	}
	return false
}

func unitIsWayIn(unit string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(unit, ".service"), ".socket")
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains([]string{
		"ssh", "sshd",
		"firewalld", "iptables", "netfilter-persistent", "nftables", "ufw",
		"NetworkManager", "ifup", "networking", "systemd-networkd",
	}, name)
}

// loginPackages returns the packages whose removal or change can prevent logins.
func loginPackages() []string {
	return []string{"ifupdown", "iptables-persistent", "libpam-modules", "libpam-runtime",
		"nftables", "openssh-server", "sudo", "systemd"}
}

// closingPackages returns packages whose installation can prevent logins.
func closingPackages() []string {
	return []string{"firewalld", "netplan.io", "network-manager", "ufw"}
}

// changesLogin reports whether the change of an account affects logins. A change of its comment does
// not.
func changesLogin(c Change) bool {
	return len(c.Differences) == 0 ||
		slices.ContainsFunc(c.Differences, func(d image.Difference) bool { return d.Field != "comment" })
}

// logsIn reports whether users may log in to an account.
func logsIn(from *image.Image) bool {
	if from == nil || from.User() == nil {
		return true
	}
	shell := path.Base(from.User().Shell)
	return from.User().Present && shell != "nologin" && shell != "false"
}
