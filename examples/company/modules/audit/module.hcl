# Who changed accounts and what runs as root is written down.
package "auditd" {}
locals {
  rules = ["10-base", "30-accounts", "50-time"]
}
file "rules" {
  for_each = toset(local.rules)
  path     = "/etc/audit/rules.d/${each.key}.rules"
  source   = "files/${each.key}.rules"
  mode     = "0640"
  notify   = [exec.load.run]
  after    = [package.auditd]
}
exec "load" {
  name    = "load audit rules"
  command = ["augenrules", "--load"]
  lazy    = true
}
file_line "keep" {
  path      = "/etc/audit/auditd.conf"
  key       = "max_log_file_action"
  value     = "keep_logs"
  separator = " = "
  create    = true
  after     = [package.auditd]
}
service "auditd" {
  enabled = true
  running = true
}
