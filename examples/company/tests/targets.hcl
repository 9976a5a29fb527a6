# What roles, groups and data come to for whole targets.
test "web1 in Berlin" {
  target = "web1.ber.example.net"
  expect {
    states    = ["module.site.vhost.site[\"shop\"]/file.conf", "module.nginx.service.nginx"]
    no_states = ["module.accounts.person.here[\"emma\"]/user.account"]
    steps     = ["PKG nginx", "USER alice*", "USER kurt ensure=absent"]
    no_steps  = ["PKG redis-server"]
  }
}

test "developers work on staging" {
  target = "app1.stage.ber.example.net"
  expect {
    states = ["module.accounts.person.here[\"emma\"]/user.account"]
    steps  = ["MKDIR /srv/shop/releases/4.8.0-rc1"]
  }
}

test "the second database follows the first" {
  target = "db2.ber.example.net"
  expect {
    states    = ["module.postgres.file.standby"]
    no_states = ["module.postgres.exec.role[\"shop\"]"]
  }
}
