test "a role adds its settings" {
  vars = { extra_sysctl = { "net.core.somaxconn" = "1024" } }
  expect {
    states = ["sysctl.setting[\"net.core.somaxconn\"]", "sysctl.setting[\"vm.swappiness\"]"]
    steps  = ["SYSCTL net.core.somaxconn*1024*", "COPY * /etc/security/limits.d/files.conf"]
  }
}
