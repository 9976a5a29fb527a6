package step

import "strings"

// Base is the state of the host before any step ran, as far as it is certain.
type Base interface {
	HasUser(name string) bool
	HasGroup(name string) bool
	// HasDir is called with clean absolute paths.
	HasDir(path string) bool
}

// DebianBase is a host with Debian 12 or 13 after the installation: the accounts of base-passwd,
// systemd and dbus, and the directories of base-files and of the packages that every installation
// has. An account or directory of only one of the releases is not listed.
type DebianBase struct{}

// HasUser reports whether the user exists.
func (DebianBase) HasUser(name string) bool { return holds(debianUsers, name) }

// HasGroup reports whether the group exists.
func (DebianBase) HasGroup(name string) bool { return holds(debianGroups, name) }

// HasDir reports whether the directory exists, including links such as /bin.
func (DebianBase) HasDir(path string) bool { return holds(debianDirs, path) }

// DebianUsers returns the users of DebianBase.
func DebianUsers() []string { return strings.Fields(debianUsers) }

// DebianGroups returns the groups of DebianBase.
func DebianGroups() []string { return strings.Fields(debianGroups) }

// DebianDirs returns the directories of DebianBase.
func DebianDirs() []string { return strings.Fields(debianDirs) }

// holds looks for a word in a text of words with blanks between them.
func holds(words, w string) bool {
	for rest := words; w != ""; {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			return false
		}
		at := len(words) - len(after)
		if isEdge(words, at-len(w)-1) && isEdge(words, at) {
			return true
		}
		rest = after
	}
	return false
}

func isEdge(s string, i int) bool {
	return i < 0 || i >= len(s) || isSeparator(s[i])
}

const debianUsers = "root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody " +
	"messagebus systemd-network"

const debianGroups = "root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy " +
	"tape sudo audio dip www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup " +
	"messagebus systemd-journal systemd-network"

const debianDirs = `/ /bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var
/etc/alternatives /etc/apt /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/keyrings /etc/apt/preferences.d
/etc/apt/sources.list.d /etc/apt/trusted.gpg.d /etc/binfmt.d /etc/cron.d /etc/cron.daily /etc/cron.hourly
/etc/cron.monthly /etc/cron.weekly /etc/default /etc/dpkg /etc/dpkg/dpkg.cfg.d /etc/init.d /etc/kernel
/etc/kernel/postinst.d /etc/kernel/postrm.d /etc/ld.so.conf.d /etc/logrotate.d /etc/modprobe.d /etc/modules-load.d
/etc/network /etc/network/interfaces.d /etc/opt /etc/pam.d /etc/profile.d /etc/security /etc/security/limits.d
/etc/skel /etc/ssh /etc/ssl /etc/ssl/certs /etc/ssl/private /etc/sysctl.d /etc/systemd /etc/systemd/network
/etc/systemd/system /etc/systemd/user /etc/tmpfiles.d /etc/udev /etc/udev/rules.d /etc/update-motd.d /etc/xdg
/run/lock /usr/bin /usr/games /usr/include /usr/lib /usr/lib64 /usr/libexec /usr/sbin /usr/share /usr/src
/usr/lib/sysctl.d /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d
/usr/lib/tmpfiles.d /usr/local /usr/local/bin /usr/local/etc /usr/local/games /usr/local/include /usr/local/lib
/usr/local/sbin /usr/local/share /usr/local/share/ca-certificates /usr/local/share/man /usr/local/src
/usr/share/keyrings /usr/share/man /usr/share/misc /usr/share/pam-configs /usr/share/doc /var/backups /var/cache /var/cache/apt /var/lib
/var/lib/apt /var/lib/dpkg /var/lib/misc /var/lib/systemd /var/local /var/log /var/log/apt /var/mail /var/opt
/var/run /var/lock /var/spool /var/spool/cron /var/spool/cron/crontabs /var/tmp`
