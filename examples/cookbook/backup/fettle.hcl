target "db1" {
  modules = ["backup"]
  vars    = { paths = ["/etc", "/srv"] }
}
