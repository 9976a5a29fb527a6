# The hosts in Amsterdam.
target "jump1.ams.example.net" {
  roles  = ["bastion"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.11" }
}

target "ns1.ams.example.net" {
  roles  = ["dns"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.12" }
}

target "ns2.ams.example.net" {
  roles  = ["dns"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.13" }
}

target "mon1.ams.example.net" {
  roles  = ["monitoring"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.14" }
}

target "db1.ams.example.net" {
  roles  = ["db"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.15" }
}

target "db2.ams.example.net" {
  roles  = ["db"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.16", postgres_primary = "db1.ams.example.net" }
}

target "app1.ams.example.net" {
  roles  = ["app"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.17" }
}

target "app2.ams.example.net" {
  roles  = ["app"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.18" }
}

target "app3.ams.example.net" {
  roles  = ["app"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.19" }
}

target "app4.ams.example.net" {
  roles  = ["app"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.20" }
}

target "web1.ams.example.net" {
  roles  = ["web"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.21" }
}

target "web2.ams.example.net" {
  roles  = ["web"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.22" }
}

target "web3.ams.example.net" {
  roles  = ["web"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.23" }
}

target "web4.ams.example.net" {
  roles  = ["web"]
  labels = { site = "ams", env = "prod" }
  vars   = { address = "10.2.1.24" }
}
