test "servers" {
  vars = { time_servers = ["ntp1.example.net"] }
  expect { steps = ["COPY * /etc/systemd/timesyncd.conf.d/site.conf", "UNIT systemd-timesyncd.service*"] }
}
