# The hosts in Berlin.
target "jump1.ber.example.net" {
  roles  = ["bastion"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.11" }
}

target "ns1.ber.example.net" {
  roles  = ["dns"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.12" }
}

target "ns2.ber.example.net" {
  roles  = ["dns"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.13" }
}

target "mon1.ber.example.net" {
  roles  = ["monitoring"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.14" }
}

target "db1.ber.example.net" {
  roles  = ["db"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.15" }
}

target "db2.ber.example.net" {
  roles  = ["db"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.16", postgres_primary = "db1.ber.example.net" }
}

target "db3.ber.example.net" {
  roles  = ["db"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.17", postgres_primary = "db1.ber.example.net" }
}

target "app1.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.18" }
}

target "app2.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.19" }
}

target "app3.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.20" }
}

target "app4.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.21" }
}

target "app5.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.22" }
}

target "app6.ber.example.net" {
  roles  = ["app"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.23" }
}

target "web1.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.24" }
}

target "web2.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.25" }
}

target "web3.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.26" }
}

target "web4.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.27" }
}

target "web5.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.28" }
}

target "web6.ber.example.net" {
  roles  = ["web"]
  labels = { site = "ber", env = "prod" }
  vars   = { address = "10.1.1.29" }
}
