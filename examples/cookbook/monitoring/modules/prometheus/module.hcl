# Prometheus asks every target that has the module metrics.
exported "nodes" {
  module = "metrics"
  output = "address"
}

package "prometheus" {}

file "/etc/prometheus/prometheus.yml" {
  content = yamlencode({
    global = { scrape_interval = "30s" }
    scrape_configs = [{
      job_name       = "node"
      static_configs = [for name, address in exported.nodes : { targets = [address], labels = { host = name } }]
    }]
  })
  validate = "promtool check config %s"
  after    = [package.prometheus]
  notify   = [service.prometheus.reload]
}

service "prometheus" {
  enabled = true
  running = true
}

check "prometheus" {
  http   = "http://127.0.0.1:9090/-/ready"
  within = "1m"
}
