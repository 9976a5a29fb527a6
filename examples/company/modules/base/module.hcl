# What a host needs before anything else: sources of packages, tools, a name, a
# language and a place.
variable "mirror" {
  type        = string
  default     = "http://deb.debian.org/debian"
  description = "where packages come from"
}
variable "timezone" {
  type    = string
  default = "Europe/Berlin"
}
variable "tools" {
  type        = list(string)
  default     = ["bash-completion", "ca-certificates", "curl", "git", "htop", "jq", "lsof", "rsync", "tcpdump", "tmux", "vim"]
  description = "packages that everybody expects"
}
variable "admin_mail" { type = string }

locals {
  suite = fact.os_codename
}

hostname "name" {
  name = target.name
}
timezone "place" {
  zone = var.timezone
}

# The sources of Debian are ours alone, in the new form.
file "/etc/apt/sources.list" {
  content = "# See /etc/apt/sources.list.d.\n"
}
apt_source "debian" {
  uris       = [var.mirror]
  suites     = [local.suite, "${local.suite}-updates"]
  components = ["main"]
  signed_by  = "/usr/share/keyrings/debian-archive-keyring.gpg"
}
apt_source "debian-security" {
  uris       = ["${var.mirror}-security"]
  suites     = ["${local.suite}-security"]
  components = ["main"]
  signed_by  = "/usr/share/keyrings/debian-archive-keyring.gpg"
}
file "/etc/apt/apt.conf.d/20lean" {
  content = <<-EOT
    APT::Install-Recommends "false";
    Acquire::Retries "3";
  EOT
}

package "tools" {
  for_each = toset(var.tools)
  name     = each.key
}

file "/etc/motd" {
  template = "templates/motd.tmpl"
  vars     = { name = target.name, roles = target.roles, mail = var.admin_mail }
}
file "/etc/issue.net" {
  content = "Example Shop. For its staff alone; everything is logged.\n"
}
file "/etc/profile.d/shop.sh" {
  content = <<-EOT
    # Times in shell histories, and a prompt that says where one is.
    export HISTTIMEFORMAT='%F %T '
    export PS1='\u@\H:\w\$ '
  EOT
}
file "/etc/vim/vimrc.local" {
  content = "set expandtab shiftwidth=2 background=dark\n"
}

directory "/srv/shop" {}
directory "/etc/shop" { mode = "0755" }
file "/etc/shop/host.json" {
  content = "${jsonencode({ name = target.name, labels = target.labels, roles = target.roles })}\n"
}

package "cron" {}
cron "tmp" {
  schedule = "17 3 * * *"
  command  = "find /var/tmp -xdev -type f -atime +30 -delete"
  after    = [package.cron]
}
