target_group "all" {
  targets = ["*"]
  modules = ["users"]
  data    = ["data/users.yaml"]
}

target "web1" {
  vars = { admins = ["kim"] } # on this host only
}

target "db1" {
  vars = { admins = ["kim", "lee"] }
}
