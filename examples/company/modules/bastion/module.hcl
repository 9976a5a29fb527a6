# The way in: people come here from anywhere and go on to other hosts.
variable "neighbours" {
  type    = map(string)
  default = {}
}

package "fail2ban" {}
file "/etc/fail2ban/jail.d/shop.conf" {
  content = "[sshd]\nenabled = true\nbackend = systemd\nmaxretry = 4\nbantime = 1h\n"
  notify  = [service.fail2ban.restart]
  after   = [package.fail2ban]
}
service "fail2ban" {
  enabled = true
  running = true
}
package "mosh" {}
file "/etc/ssh/ssh_config.d/20-inside.conf" {
  content = join("", [for name, ip in var.neighbours : "Host ${split(".", name)[0]}\n  HostName ${name}\n"])
  after   = [module.ssh.package.openssh-server]
}
sshd_config "20-bastion" {
  settings = { AllowAgentForwarding = "no", PermitTTY = "yes" }
  content  = "Match Group team-dev\n  PermitOpen db*:5432\n"
  after    = [module.ssh.package.openssh-server]
}
limits "sessions" {
  domain = "*"
  hard   = { maxlogins = 10 }
}
file "/etc/profile.d/timeout.sh" {
  content = "# Sessions that nobody uses end.\nTMOUT=3600\nreadonly TMOUT\nexport TMOUT\n"
}
directory "/var/log/sessions" {
  group = "adm"
  mode  = "0750"
}
