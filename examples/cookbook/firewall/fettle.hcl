target_group "all" {
  targets = ["*"]
  modules = ["firewall"]
  vars    = { open = { ssh = 22 } }
}

target "web1" {
  vars = { open = { http = 80, https = 443 } }
}

target "db1" {
  vars = { allow = { postgresql = { port = 5432, from = ["192.0.2.0/24"] } } }
}
