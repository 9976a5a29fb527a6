test "what is kept" {
  vars = { admin_mail = "ops@shop.example", keep = ["postgresql-.*"], upgrade_time = "Mon 04:00" }
  expect {
    steps = ["PKG needrestart", "UNIT apt-daily-upgrade.timer*"]
  }
}
