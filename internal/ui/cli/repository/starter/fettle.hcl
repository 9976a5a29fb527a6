# The targets of this repository, and which modules each one gets.
target "local" {
  modules = ["base"]
}
