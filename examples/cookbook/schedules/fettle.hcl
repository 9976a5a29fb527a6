target "app1" {
  modules = ["schedules"]
}
