# What cannot be made again goes to the backup server of the site every night.
variable "backup_server" {
  type    = string
  default = "backup.example.net"
}
variable "backup_paths" {
  type    = list(string)
  default = ["/etc", "/home"]
}
variable "backup_keep" {
  type    = map(number)
  default = { daily = 7 }
}

package "restic" {}
directory "/etc/restic" { mode = "0700" }
file "/etc/restic/paths" {
  content = join("", [for p in sort(var.backup_paths) : "${p}\n"])
}
file "/etc/restic/exclude" {
  source = "files/exclude"
}
file "/etc/restic/env" {
  content = <<-EOT
    RESTIC_REPOSITORY=sftp:backup@${var.backup_server}:/srv/backup/${target.name}
    RESTIC_PASSWORD_FILE=/etc/restic/password
    RESTIC_CACHE_DIR=/var/cache/restic
  EOT
  mode    = "0600"
}
file "/usr/local/sbin/backup" {
  template = "templates/backup.tmpl"
  vars     = { keep = var.backup_keep }
  mode     = "0755"
}
directory "/var/cache/restic" { mode = "0700" }
timer "backup" {
  schedule     = "*-*-* 01:30:00"
  random_delay = "90min"
  command      = "/usr/local/sbin/backup"
  summary      = "Backup to ${var.backup_server}"
}
timer "backup-verify" {
  schedule     = "Sun 05:00"
  random_delay = "4h"
  command      = "/usr/local/sbin/backup --verify"
  summary      = "Verify a part of the backup"
}
