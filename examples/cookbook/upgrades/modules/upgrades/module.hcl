# Security updates install themselves. Some hosts restart at night if an update requires it.
variable "reboot" {
  type    = bool
  default = true
}
variable "except" {
  type    = list(string)
  default = []
}

unattended_upgrades "security" {
  reboot        = var.reboot
  reboot_time   = "03:30"
  except        = var.except
  remove_unused = true
}
