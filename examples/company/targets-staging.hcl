# Staging, in Berlin: small, and of the same form.
target "db1.stage.ber.example.net" {
  roles  = ["db"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.11" }
}

target "app1.stage.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.12" }
}

target "app2.stage.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.13" }
}

target "app3.stage.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.14" }
}

target "web1.stage.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.15" }
}

target "web2.stage.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.16" }
}

target "web3.stage.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "staging" }
  vars   = { address = "10.1.9.17" }
}
