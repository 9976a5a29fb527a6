# One target for each entry of the inventory. A target group selects them by label, as other targets.
target "web" {
  for_each = yamldecode(file("data/hosts.yaml"))
  name     = "${each.key}.${each.value.site}.example.org"
  at_least = 2 # an inventory with fewer hosts is an error, not a smaller fleet
  labels   = { env = each.value.env, site = each.value.site }
  vars     = { workers = each.value.workers }
  ssh { host = "${each.key}.internal" }
}

target_group "web" {
  targets = ["*"]
  modules = ["web"]
}
