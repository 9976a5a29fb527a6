test "every host is asked" {
  vars = { admin_mail = "ops@shop.example", neighbours = { "db1.ber.example.net" = "10.1.1.14" } }
  expect {
    states = ["file.rule[\"hosts\"]", "check.prometheus"]
    order  = ["PKG prometheus", "COPY * /etc/prometheus/prometheus.yml*", "UNIT prometheus.service*"]
  }
}
