target "web1" {
  modules = ["ssh"]
}
