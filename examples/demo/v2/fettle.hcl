# The machines of this repository. A target gets modules, and values for their
# variables.
target "demo" {
  labels  = { role = "web" }
  modules = ["site"]
  vars    = { domain = "example.org" }
}
