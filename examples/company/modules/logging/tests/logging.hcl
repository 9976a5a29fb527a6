test "without a server" {
  expect {
    steps     = ["COPY * /etc/systemd/journald.conf.d/size.conf*"]
    no_states = ["file[\"/etc/rsyslog.d/50-forward.conf\"]"]
  }
}

test "with a server" {
  vars = { log_server = "mon1.ber.example.net" }
  expect {
    order = ["PKG rsyslog", "COPY * /etc/rsyslog.d/50-forward.conf*", "UNIT rsyslog.service*"]
    steps = ["ACT restart rsyslog.service*"]
  }
}
