# Each host offers its metrics, and exports its address to the monitoring host.
fact "default_ipv4" { type = string }

package "prometheus-node-exporter" {}

file "/etc/default/prometheus-node-exporter" {
  content = "ARGS=\"--collector.systemd\"\n"
  after   = [package.prometheus-node-exporter]
  notify  = [service.prometheus-node-exporter.restart]
}

service "prometheus-node-exporter" {
  enabled = true
  running = true
}

check "metrics" {
  http     = "http://127.0.0.1:9100/metrics"
  contains = "node_load1"
}

# The fact is null on a host without a default route; null is not exported.
output "address" {
  value    = fact.default_ipv4 == null ? null : "${fact.default_ipv4}:9100"
  type     = string
  exported = true
}
