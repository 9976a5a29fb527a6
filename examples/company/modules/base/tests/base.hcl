test "a host says what it is" {
  labels = { site = "ber", env = "prod" }
  vars   = { admin_mail = "ops@shop.example" }
  expect {
    states = ["package.tools[\"jq\"]", "file[\"/etc/motd\"]"]
    steps  = ["PKG jq", "PKG vim", "COPY * /etc/shop/host.json"]
    order  = ["MKDIR /etc/shop mode=0755", "COPY * /etc/shop/host.json"]
  }
}

test "another release" {
  facts = { "os_codename" = "trixie" }
  vars  = { admin_mail = "ops@shop.example", tools = ["vim"] }
  expect {
    steps    = ["PKG vim"]
    no_steps = ["PKG jq"]
  }
}
