target "web1" {
  modules = ["site"]
  vars    = { domain = "www.example.org" }
}
