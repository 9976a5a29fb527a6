test "neighbours" {
  vars = { neighbours = { "db1.ber.example.net" = "10.1.1.14", "test" = "10.0.0.1" } }
  expect {
    no_steps = ["EDIT /etc/hosts*10.0.0.1*"] # itself
    steps    = ["COPY * /etc/resolv.conf*", "EDIT /etc/hosts*10.1.1.14*"]
  }
}
