test "ports and where from" {
  vars = { open = { ssh = { port = 22, from = ["10.0.0.0/8"] }, http = { port = 80 } } }
  expect {
    steps = ["COPY * /etc/nftables.conf*"]
  }
}

test "a port that is none" {
  vars = { open = { odd = { port = 70000 } } }
  expect { error = "A port lies between" }
}
