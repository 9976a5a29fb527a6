test "no root, no passwords" {
  vars = { known_hosts = { "git.shop.example" = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+" } }
  expect {
    states = ["service.ssh", "check.ssh"]
    steps  = ["COPY * /etc/ssh/sshd_config.d/10-shop.conf*", "EDIT /etc/ssh/ssh_known_hosts*git.shop.example*", "CHECK ssh tcp=127.0.0.1:22*"]
  }
}
