# The journal keeps two weeks; what matters goes to the log server of the site.
variable "log_server" {
  type        = string
  default     = null
  description = "host that takes logs; null: none"
}
variable "journal_size" {
  type    = string
  default = "2G"
}

journald "size" {
  settings = { Storage = "persistent", SystemMaxUse = var.journal_size, MaxRetentionSec = "14day" }
}

package "rsyslog" {}
file "/etc/rsyslog.d/10-local.conf" {
  source   = "files/local.conf"
  validate = "rsyslogd -N1"
  notify   = [service.rsyslog.restart]
  after    = [package.rsyslog]
}
file "/etc/rsyslog.d/50-forward.conf" {
  when     = var.log_server != null
  template = "templates/forward.conf.tmpl"
  vars     = { server = coalesce(var.log_server, "localhost") }
  validate = "rsyslogd -N1"
  notify   = [service.rsyslog.restart]
  after    = [package.rsyslog]
}
service "rsyslog" {
  enabled = true
  running = true
}

logrotate "shop" {
  paths   = ["/var/log/shop/*.log"]
  options = ["su root adm", "daily", "rotate 14", "compress", "delaycompress", "missingok", "notifempty"] # a group writes there
}
directory "/var/log/shop" {
  group = "adm"
  mode  = "2770"
}
