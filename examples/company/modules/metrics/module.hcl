# Numbers for Prometheus: those of the host, and of what timers write down.
variable "collectors" {
  type    = list(string)
  default = ["systemd", "processes", "textfile"]
}
variable "scrape_labels" {
  type    = map(string)
  default = {}
}

package "prometheus-node-exporter" {}
directory "/var/lib/node-textfiles" {}
file "/etc/default/prometheus-node-exporter" {
  content = "ARGS=\"--collector.textfile.directory=/var/lib/node-textfiles ${join(" ", [for c in var.collectors : "--collector.${c}"])}\"\n"
  notify  = [service.prometheus-node-exporter.restart]
  after   = [package.prometheus-node-exporter]
}
service "prometheus-node-exporter" {
  enabled = true
  running = true
}
file "/var/lib/node-textfiles/role.prom" {
  content = "shop_host_info{${join(",", [for k, v in merge(target.labels, var.scrape_labels, { roles = join(" ", target.roles) }) : "${k}=\"${v}\""])}} 1\n"
}
file "/usr/local/sbin/apt-metrics" {
  source = "files/apt-metrics"
  mode   = "0755"
}
timer "apt-metrics" {
  every   = "1h"
  command = "/usr/local/sbin/apt-metrics"
}
