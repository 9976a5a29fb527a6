# One machine, one module. Try it without root, on a directory:
#
#   fettle apply -C examples/hello --root /tmp/hello
target "local" {
  modules = ["hello"]
  vars    = { greeting = "Hello" }
}
