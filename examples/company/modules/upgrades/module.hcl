# Security updates install themselves, at a time that the environment says.
variable "admin_mail" { type = string }
variable "upgrade_time" {
  type        = string
  default     = "daily"
  description = "when, as systemd writes it"
}
variable "keep" {
  type        = list(string)
  default     = []
  description = "packages that are upgraded by hand"
}

unattended_upgrades "security" {
  except        = var.keep
  mail          = var.admin_mail
  remove_unused = true
}
unit_override "apt-daily-upgrade.timer" {
  name    = "when"
  content = "[Timer]\nOnCalendar=\nOnCalendar=${var.upgrade_time}\nRandomizedDelaySec=30m\n"
}
service "apt-daily-upgrade.timer" {
  enabled = true
  running = true
}
package "needrestart" {}
file "/etc/needrestart/conf.d/shop.conf" {
  content = "$nrconf{restart} = 'a';\n$nrconf{kernelhints} = -1;\n"
}
