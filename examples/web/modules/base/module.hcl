# What every machine gets.
variable "admins" {
  description = "who may log in and become root, with the public key of each"
  type        = map(string)
  default = {
    alice = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+ alice@laptop"
  }
}
variable "timezone" {
  type    = string
  default = "Europe/Amsterdam"
}

hostname "name" {
  name = target.name
}
timezone "zone" {
  zone = var.timezone
}

file "/etc/motd" {
  template = "templates/motd.tmpl"
  vars     = { name = target.name }
}

host_entry "db1.example.org" {
  ip      = "10.0.0.7"
  aliases = ["db1"]
}

sysctl "net.ipv4.tcp_keepalive_time" {
  value = 600
}

# Administrators: an account, sudo, and a key.
package "sudo" {}

user "admin" {
  for_each = var.admins
  name     = each.key
  groups   = ["sudo"]
  shell    = "/bin/bash"
}
authorized_key "admin" {
  for_each = var.admins
  user     = each.key
  key      = each.value
  after    = [user.admin]
}

# The configuration of sshd belongs to its package; two lines of it are ours.
file_line "no-root-login" {
  path   = "/etc/ssh/sshd_config"
  match  = "^#?PermitRootLogin\\s"
  line   = "PermitRootLogin no"
  notify = [service.ssh.reload]
}
file_line "no-passwords" {
  path   = "/etc/ssh/sshd_config"
  match  = "^#?PasswordAuthentication\\s"
  line   = "PasswordAuthentication no"
  notify = [service.ssh.reload]
}
service "ssh" {
  enabled = true
  running = true
}

package "cron" {}

cron "clean-tmp" {
  schedule = "17 3 * * *"
  command  = "find /var/tmp -xdev -type f -atime +30 -delete"
  after    = [package.cron]
}

check "ssh" {
  tcp    = "127.0.0.1:22"
  within = "10s"
}
