# sshd lets in people with keys, and nobody as root.
variable "known_hosts" {
  type        = map(string)
  default     = {}
  description = "keys of hosts that ours talk to"
}
variable "ssh_forward" {
  type        = bool
  default     = false
  description = "let sessions go on to other hosts"
}

package "openssh-server" {}
service "ssh" {
  enabled = true
  running = true
}
sshd_config "10-shop" {
  settings = {
    AllowTcpForwarding           = var.ssh_forward ? "yes" : "no"
    Banner                       = "/etc/issue.net"
    ClientAliveInterval          = "60"
    KbdInteractiveAuthentication = "no"
    LoginGraceTime               = "20"
    MaxAuthTries                 = "3"
    PasswordAuthentication       = "no"
    PermitRootLogin              = "no"
    X11Forwarding                = "no"
  }
  after = [package.openssh-server]
}
file "/etc/ssh/ssh_config.d/10-shop.conf" {
  content = "Host *\n  HashKnownHosts no\n  StrictHostKeyChecking yes\n"
  after   = [package.openssh-server]
}
known_host "ours" {
  for_each = var.known_hosts
  host     = each.key
  key      = each.value
}

check "ssh" {
  tcp = "127.0.0.1:22"
}
