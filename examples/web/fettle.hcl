# A web server: what every machine of ours gets, and nginx with one site.
target "web1" {
  modules = ["base", "web"]
  vars    = { domain = "example.org" }
}
