target_group "all" {
  targets = ["*"]
  modules = ["metrics"]
}

target "web1" {}
target "mon1" {
  modules = ["prometheus"]
}
