# Prometheus and Alertmanager: what is asked, and what wakes somebody up.
variable "neighbours" {
  type    = map(string)
  default = {}
}
variable "jobs" {
  type = map(object({ port = number, targets = optional(list(string)) }))
  default = {
    node     = { port = 9100 }
    postgres = { port = 9187 }
  }
}
variable "admin_mail" { type = string }

locals {
  rules = ["hosts", "disks", "postgres", "web", "backup"]
}

package "prometheus" {}
package "prometheus-alertmanager" {}
file "/etc/prometheus/prometheus.yml" {
  template = "templates/prometheus.yml.tmpl"
  vars     = { hosts = keys(var.neighbours), jobs = var.jobs }
  validate = "promtool check config %s"
  notify   = [service.prometheus.reload]
  after    = [package.prometheus]
}
directory "/etc/prometheus/rules" {
  after = [package.prometheus]
}
file "rule" {
  for_each = toset(local.rules)
  path     = "/etc/prometheus/rules/${each.key}.yml"
  source   = "files/${each.key}.yml"
  validate = "promtool check rules %s"
  notify   = [service.prometheus.reload]
}
file "/etc/prometheus/alertmanager.yml" {
  content  = yamlencode({ route = { receiver = "ops", group_by = ["alertname", "site"] }, receivers = [{ name = "ops", email_configs = [{ to = var.admin_mail }] }] })
  validate = "amtool check-config %s"
  notify   = [service.prometheus-alertmanager.restart]
  after    = [package.prometheus-alertmanager]
}
service "prometheus" {
  enabled = true
  running = true
}
service "prometheus-alertmanager" {
  enabled = true
  running = true
}
check "prometheus" {
  http = "http://127.0.0.1:9090/-/ready"
}
