test "labels" {
  labels = { env = "prod" }
  expect {
    order = ["PKG prometheus-node-exporter", "COPY * /etc/default/prometheus-node-exporter", "UNIT prometheus-node-exporter.service*"]
    steps = ["COPY * /var/lib/node-textfiles/role.prom", "UNIT apt-metrics.timer*"]
  }
}
