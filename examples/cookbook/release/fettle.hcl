target "app1" {
  modules = ["app"]
  vars    = { version = "2.4.0" }
}
