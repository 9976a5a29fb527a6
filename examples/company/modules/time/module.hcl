# The time from the servers of the site.
variable "time_servers" {
  type    = list(string)
  default = []
}
variable "clock" {
  type        = bool
  default     = true
  description = "false in a container, whose clock is its host's"
}

ntp "site" {
  servers  = var.time_servers
  fallback = ["0.debian.pool.ntp.org", "1.debian.pool.ntp.org"]
  running  = var.clock
}
