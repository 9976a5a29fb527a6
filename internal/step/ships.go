package step

import "strings"

// Ships returns the Debian package that provides a directory, "" if it is unknown. It is for
// messages: the contents of packages can change.
func Ships(dir string) string {
	for _, row := range strings.Fields(shippedDirs) {
		if where, pkg, _ := strings.Cut(row, "="); below(dir, where) {
			return pkg
		}
	}
	return ""
}

// shippedDirs are well-known directories that not every installation has, with the package that
// provides each. A directory precedes the directory that contains it.
const shippedDirs = `/etc/NetworkManager=network-manager /etc/apache2=apache2 /etc/audit=auditd /etc/bash_completion.d=bash-completion
/etc/bind=bind9 /etc/chrony=chrony /etc/containers=podman /etc/cron.d=cron /etc/cron.daily=cron /etc/cron.hourly=cron
/etc/cron.monthly=cron /etc/cron.weekly=cron /etc/dbus-1=dbus /etc/default/grub.d=grub2-common /etc/dnsmasq.d=dnsmasq
/etc/dovecot=dovecot-core /etc/exim4=exim4-config /etc/fail2ban=fail2ban /etc/haproxy=haproxy /etc/libvirt=libvirt-daemon-system
/etc/logrotate.d=logrotate /etc/modprobe.d=kmod /etc/munin=munin-node /etc/mysql=mariadb-server /etc/needrestart=needrestart
/etc/network=ifupdown /etc/nginx=nginx /etc/openvpn=openvpn /etc/polkit-1=polkitd /etc/postfix=postfix /etc/postgresql=postgresql
/etc/prometheus=prometheus /etc/redis=redis-server /etc/rsyslog.d=rsyslog /etc/samba=samba-common /etc/security=libpam-modules
/etc/snmp=snmpd /etc/ssh/sshd_config.d=openssh-server /etc/ssh=openssh-client /etc/ssl=openssl /etc/sudoers.d=sudo
/etc/sysctl.d=procps /etc/udev=udev /etc/unbound=unbound /etc/vim=vim-common /etc/wireguard=wireguard-tools
/usr/local/share/ca-certificates=ca-certificates /usr/share/zoneinfo=tzdata /var/lib/mysql=mariadb-server
/var/lib/postgresql=postgresql /var/spool/cron=cron`
