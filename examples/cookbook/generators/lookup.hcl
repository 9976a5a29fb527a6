# Answers of another service, such as an inventory. The snapshot is in the repository.
lookup "cmdb" { url = "https://cmdb.example.org/hosts.json" }

target "cmdb" {
  for_each = { for host in lookup.cmdb : host.name => host if host.state == "live" }
  at_least = 1
  labels   = { role = each.value.role, site = each.value.site }
}
