test "zones" {
  vars = { zones = ["ber.example.net"], neighbours = { "db1.ber.example.net" = "10.1.1.14" } }
  expect {
    states = ["file.zone[\"ber.example.net\"]"]
    order  = ["PKG unbound", "COPY * /etc/unbound/unbound.conf.d/zone-ber.example.net.conf*", "UNIT unbound.service*"]
  }
}
