# Settings of the kernel, modules that nobody needs, and limits of sessions.
variable "sysctl" {
  type  = map(string)
  merge = "shallow"
  default = {
    "fs.protected_fifos"                     = "2"
    "fs.protected_regular"                   = "2"
    "kernel.dmesg_restrict"                  = "1"
    "kernel.kptr_restrict"                   = "2"
    "kernel.unprivileged_bpf_disabled"       = "1"
    "net.ipv4.conf.all.accept_redirects"     = "0"
    "net.ipv4.conf.all.log_martians"         = "1"
    "net.ipv4.conf.all.rp_filter"            = "1"
    "net.ipv4.conf.default.accept_redirects" = "0"
    "net.ipv4.icmp_echo_ignore_broadcasts"   = "1"
    "net.ipv4.tcp_syncookies"                = "1"
    "net.ipv6.conf.all.accept_redirects"     = "0"
    "vm.swappiness"                          = "10"
  }
  description = "settings of every host"
}
variable "extra_sysctl" {
  type        = map(string)
  default     = {}
  merge       = "shallow"
  description = "settings of a role"
}
variable "blocked_modules" {
  type    = list(string)
  default = ["dccp", "rds", "sctp", "tipc"]
}

sysctl "setting" {
  for_each = merge(var.sysctl, var.extra_sysctl)
  key      = each.key
  value    = each.value
}

package "kmod" {}
kernel_module "blocked" {
  for_each = toset(var.blocked_modules)
  name     = each.key
  blocked  = true
  after    = [package.kmod]
}

limits "files" {
  domain = "*"
  soft   = { nofile = 8192 }
  hard   = { nofile = 65536 }
}
limits "core" {
  domain = "*"
  hard   = { core = 0 }
}
