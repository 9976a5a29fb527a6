# A nightly backup with restic. The password is a secret of the repository; only the service can read it.
variable "repository" {
  type    = string
  default = "/var/backups/restic" # or sftp:backup@host:/path, s3:…
}

variable "paths" { type = list(string) }

variable "keep_daily" {
  type    = number
  default = 14
}

package "restic" {}

directory "/etc/backup" { mode = "0700" }

file "password" {
  path    = "/etc/backup/password"
  content = "change-me-and-use-secret\n" # in production: secret = "restic-password"
  mode    = "0600"
}

file "paths" {
  path    = "/etc/backup/paths"
  content = join("", [for p in sort(var.paths) : "${p}\n"])
}

file "script" {
  path     = "/usr/local/sbin/backup"
  template = "templates/backup.tmpl"
  vars     = { repository = var.repository, keep = var.keep_daily }
  mode     = "0755"
  validate = "sh -n %s"
}

timer "backup" {
  command      = file.script.path
  schedule     = "*-*-* 01:30:00"
  random_delay = "1h"
  persistent   = true
  summary      = "Backup of this host"
  after        = [package.restic, file.password, file.paths]
}

# Run it now: fettle run -t db1 backup
action "backup" {
  description = "makes a backup now"
  command     = [["systemctl", "start", "backup.service"]]
}
