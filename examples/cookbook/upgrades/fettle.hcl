target_group "all" {
  targets = ["*"]
  modules = ["upgrades"]
}

target "web1" {}
target "db1" {
  vars = { reboot = false, except = ["postgresql-.*"] }
}
